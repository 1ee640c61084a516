// When old revisions go: by number, by age, and by how much they hold.
#include "store/etcd/compactor.h"

#include <gtest/gtest.h>

#include "store/etcd/store_fixture.h"

namespace takt::internal::etcd {
namespace {

constexpr std::uint64_t kMegabyte = 1u << 20;

// A service with payloads of a megabyte: a hundred commits are as much as ten thousand usual ones.
TEST(EtcdCompactor, LargeCommitsAreDiscardedByTheirBytes) {
    Compactor compactor;
    const Steady now = SteadyClock::now();
    std::int64_t last = 0;
    int times = 0;
    for (std::int64_t revision = 1; revision <= 1000; ++revision) {
        if (const auto target = compactor.Observe(revision, kMegabyte, now)) {
            EXPECT_GT(*target, last);
            last = *target;
            ++times;
        }
        // The history that is kept never holds more than the bound and a step.
        EXPECT_LE(static_cast<std::uint64_t>(revision - last) * kMegabyte,
                  Compactor::kBytesKept + 2 * Compactor::kBytesStep);
    }
    EXPECT_LE(times, 64) << "and not with every commit";
}

// Under load old revisions go by number, at rest by age, and never what is needed.
TEST(EtcdCompactor, KeepsTenThousandRevisionsOrFiveMinutes) {
    Compactor compactor;
    Steady now(std::chrono::hours(1));
    EXPECT_FALSE(compactor.Observe(9'000, 0, now));
    EXPECT_FALSE(compactor.Observe(10'000, 0, now)) << "nothing is old enough";
    EXPECT_EQ(compactor.Observe(12'500, 0, now), 2'500);
    EXPECT_FALSE(compactor.Observe(13'000, 0, now)) << "not for a few";
    EXPECT_EQ(compactor.Observe(14'600, 0, now), 4'600);

    now += std::chrono::minutes(5);
    EXPECT_EQ(compactor.Observe(14'700, 0, now), 9'000) << "what was there five minutes ago";
    EXPECT_FALSE(compactor.Observe(14'700, 0, now));
}

// Payloads of a megabyte come, run and are purged, as many as the quota holds twice over. etcd must
// not run full of what is gone.
TEST_F(EtcdTest, PayloadsThatAreGoneDoNotFillTheQuota) {
    StartServer({.arguments = {"--quota-backend-bytes=134217728"}});
    OpenStore();
    const Result<Term> term = Acquire();
    ASSERT_TRUE(term) << term.error().detail;
    std::uint64_t sequence = 0;
    for (int i = 0; i < 180; ++i) {
        Execution row = make_.Fire("t-1", "e-" + std::to_string(i));
        row.payload = Text(std::string(kMegabyte, static_cast<char>('a' + i % 26)));
        const Result<void> came =
            Commit(*term, ++sequence, {ExecutionChange{Place::kNone, Place::kLive, row}});
        ASSERT_TRUE(came) << i << ": " << came.error().detail;
        const Execution done = conformance::Finished(row);
        ASSERT_TRUE(
            Commit(*term, ++sequence, {ExecutionChange{Place::kLive, Place::kHistory, done}}));
        const Result<void> purged =
            Commit(*term, ++sequence, {Purge{done.finished_at + Duration(1), {}, 100}});
        ASSERT_TRUE(purged) << i << ": " << purged.error().detail;
    }
}

}  // namespace
}  // namespace takt::internal::etcd
