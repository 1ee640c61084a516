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

// Two schedulers: one leads `default`, where nothing happens, the other a namespace with large
// payloads.
class EtcdNeighbours : public EtcdTest {
  protected:
    void Open(const EtcdServer::Options& options = {}) {
        StartServer(options);
        OpenStore();
        other_ = MakeStore(server_->url());
        const Result<Term> term =
            TakeLead(*other_, {.node = {.node = NodeId("node-b"), .address = "http://b"},
                               .ttl = Duration(600'000),
                               .partition = 7});
        ASSERT_TRUE(term) << term.error().detail;
        term_ = *term;
    }
    // An execution with a megabyte comes, ends and is purged.
    Result<void> PassOne() {
        Execution row = make_.Fire("t-1", "e-" + std::to_string(sequence_));
        row.payload = Text(std::string(kMegabyte, static_cast<char>('a' + sequence_ % 26)));
        const Execution done = conformance::Finished(row);
        const std::vector<Change> steps[] = {{ExecutionChange{Place::kNone, Place::kLive, row}},
                                             {ExecutionChange{Place::kLive, Place::kHistory, done}},
                                             {Purge{done.finished_at + Duration(1), {}, 100}}};
        for (const std::vector<Change>& changes : steps) {
            const auto batch = std::make_shared<const Batch>(
                Batch{term_, ++sequence_, make_.last_serial(), changes});
            const Result<void> committed =
                Await<void>([&](Done<void> d) { other_->Commit(batch, std::move(d)); });
            if (!committed) return committed;
        }
        return {};
    }

    std::unique_ptr<Store> other_;
    Term term_;
    std::uint64_t sequence_ = 0;
};

// etcd runs full of what the one writes unless the other, which leads `default`, has an eye on it: at
// each look at the leaders, every few seconds.
TEST_F(EtcdNeighbours, TheLeaderOfDefaultDiscardsWhatOthersWrite) {
    Open({.arguments = {"--quota-backend-bytes=268435456"}});
    ASSERT_TRUE(Acquire());
    for (int i = 0; i < 360; ++i) {
        const Result<void> passed = PassOne();
        ASSERT_TRUE(passed) << i << ": " << passed.error().detail;
        Leaders();
    }
}

// And the other leaves it alone: compaction is etcd's as a whole, and one is enough.
TEST_F(EtcdNeighbours, WhoLeadsOthersOnlyDiscardsNothing) {
    Open();
    for (int i = 0; i < 100; ++i) {
        const Result<void> passed = PassOne();
        ASSERT_TRUE(passed) << i << ": " << passed.error().detail;
    }
    const Result<std::string> first = server_->Ctl({"get", "--rev=2", "/takt/layout"});
    EXPECT_TRUE(first) << first.error().detail;
}

}  // namespace
}  // namespace takt::internal::etcd
