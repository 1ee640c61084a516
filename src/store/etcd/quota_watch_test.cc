// How near etcd is to its quota, and what happens there.
#include "store/etcd/quota_watch.h"

#include <condition_variable>
#include <mutex>

#include "store/etcd/store_fixture.h"

namespace takt::internal::etcd {
namespace {

constexpr std::int64_t kMebibyte = 1 << 20;

// In mebibytes.
etcdserverpb::StatusResponse Sizes(std::int64_t file, std::int64_t used, std::int64_t quota = 0) {
    etcdserverpb::StatusResponse status;
    status.set_db_size(file * kMebibyte);
    status.set_db_size_in_use(used * kMebibyte);
    status.set_db_size_quota(quota * kMebibyte);
    return status;
}

TEST(QuotaWatch, NewWorkWaitsNearTheQuotaAndUntilThereIsRoomAgain) {
    QuotaWatch watch(1000 * kMebibyte, "etcd");
    watch.Observe(Sizes(900, 899));
    EXPECT_EQ(watch.WhyFull(), "");
    watch.Observe(Sizes(900, 900));
    EXPECT_NE(watch.WhyFull().find("quota="), std::string::npos) << watch.WhyFull();
    watch.Observe(Sizes(900, 880));
    EXPECT_NE(watch.WhyFull(), "") << "not at each turn of the retention";
    watch.Observe(Sizes(900, 860));
    EXPECT_EQ(watch.WhyFull(), "");
}

// Of a small quota ten percent are written between two looks at it.
TEST(QuotaWatch, WhatWasWrittenSinceTheLastLookCounts) {
    QuotaWatch watch(1000 * kMebibyte, "etcd");
    watch.NoteWritten(700 * kMebibyte);
    watch.Observe(Sizes(700, 700), watch.written());
    EXPECT_EQ(watch.WhyFull(), "");
    watch.NoteWritten(150 * kMebibyte);
    const std::uint64_t asked = watch.written();
    watch.NoteWritten(50 * kMebibyte);
    EXPECT_NE(watch.WhyFull(), "");
    watch.Observe(Sizes(840, 840), asked);
    EXPECT_EQ(watch.WhyFull(), "") << "it takes less than what was written for it";
    watch.NoteWritten(10 * kMebibyte);
    EXPECT_NE(watch.WhyFull(), "") << "what came after the question is not in the answer";
}

// The file of a small one is past its quota by the pages of a few large values before that.
TEST(QuotaWatch, ASmallQuotaKeepsRoomForTheLastValuesPages) {
    QuotaWatch watch(24 * kMebibyte, "etcd");
    watch.Observe(Sizes(18, 18));
    EXPECT_EQ(watch.WhyFull(), "");
    watch.Observe(Sizes(19, 19));
    EXPECT_NE(watch.WhyFull(), "");
}

// Values of a megabyte find no place among what is free in pieces: the file grows past the quota
// though a tenth of it is free.
TEST(QuotaWatch, NewWorkWaitsEarlierOnceTheFileIsNearTheQuota) {
    QuotaWatch watch(1000 * kMebibyte, "etcd");
    watch.Observe(Sizes(940, 880));
    EXPECT_EQ(watch.WhyFull(), "");
    watch.Observe(Sizes(960, 860));
    EXPECT_NE(watch.WhyFull(), "");
    watch.Observe(Sizes(960, 840));
    EXPECT_EQ(watch.WhyFull(), "") << "there is room inside it";
}

// etcd 3.6 knows better than the URL. And one whose file is larger than the quota that we know of has
// another: nobody is refused for a guess.
TEST(QuotaWatch, EtcdsOwnWordCounts) {
    QuotaWatch watch(1000 * kMebibyte, "etcd");
    watch.Observe(Sizes(950, 950, 10'000));
    EXPECT_EQ(watch.WhyFull(), "");
    EXPECT_EQ(watch.quota(), 10'000u * kMebibyte);
    QuotaWatch unsaid(0, "etcd");
    unsaid.Observe(Sizes(1'900, 1'900));
    EXPECT_NE(unsaid.WhyFull(), "") << "etcd's default is 2 GiB";
    unsaid.Observe(Sizes(2'100, 2'060));
    EXPECT_EQ(unsaid.WhyFull(), "");
}

// It goes by its file: one above the quota that it tells takes no write, however little is in use.
TEST(QuotaWatch, AFileAboveTheQuotaOrAnAlarmIsFull) {
    QuotaWatch watch(0, "etcd");
    watch.Observe(Sizes(1'100, 100, 1'000));
    EXPECT_NE(watch.WhyFull().find("defrag"), std::string::npos) << watch.WhyFull();
    EXPECT_EQ(watch.quota(), 1'000u * kMebibyte);
    EXPECT_EQ(watch.used(), 100u * kMebibyte);
    watch.Observe(Sizes(200, 100, 1'000));
    EXPECT_EQ(watch.WhyFull(), "");
    // Of an older one nobody knows the quota, but its alarm.
    auto status = Sizes(3'000, 100);
    status.add_errors("memberID:10501334649042878790 alarm:NOSPACE ");
    watch.Observe(status);
    EXPECT_NE(watch.WhyFull().find("alarm disarm"), std::string::npos) << watch.WhyFull();
    EXPECT_EQ(watch.quota(), 0u);
    watch.Observe(Sizes(3'000, 100));
    EXPECT_EQ(watch.WhyFull(), "");
}

// Counts how often etcd told its sizes, for those who wait for the next time.
class Sizings {
  public:
    void Add() {
        const std::scoped_lock lock(mutex_);
        ++count_;
        changed_.notify_all();
    }
    int count() {
        const std::scoped_lock lock(mutex_);
        return count_;
    }
    bool AwaitAbove(int seen) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return count_ > seen; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int count_ = 0;
};

// A small quota, filled faster than etcd's size is looked at.
TEST_F(EtcdTest, ASmallQuotaIsNotPassedBetweenTwoLooks) {
    constexpr int kQuota = 24 << 20;
    StartServer({.arguments = {"--quota-backend-bytes=" + std::to_string(kQuota)}});
    Sizings sizings;
    EtcdOptions options = *ParseEtcdUrl(server_->url("?quota=" + std::to_string(kQuota)));
    options.on_sizes = [&] { sizings.Add(); };
    store_ = std::move(*OpenEtcd(options));
    const Result<Term> term = Acquire();
    ASSERT_TRUE(term) << term.error().detail;
    Leaders();
    ASSERT_TRUE(sizings.AwaitAbove(0));
    std::uint64_t sequence = 0;
    while (store_->WhyFull().empty() && sequence < 30) {
        Execution row = make_.Fire("t-1", "e-" + std::to_string(sequence));
        row.payload = Text(std::string(1 << 20, 'x'));
        const Result<void> came =
            Commit(*term, ++sequence, {ExecutionChange{Place::kNone, Place::kLive, row}});
        ASSERT_TRUE(came) << sequence << ": " << came.error().detail;
    }

    EXPECT_GT(sequence, 15u) << "too early";
    EXPECT_LT(sequence, 23u) << "it was not told in time";
    store_.reset();
}

// Work comes in faster than it ends. Before etcd turns read-only the scheduler is told to take no more;
// all that is there ends, is purged, and then there is room.
TEST_F(EtcdTest, WhatIsThereEndsAndIsPurgedBeforeEtcdIsFull) {
    // So large that a few rows which a slow compaction leaves are little of it.
    constexpr int kQuota = 128 << 20;
    StartServer({.arguments = {"--quota-backend-bytes=" + std::to_string(kQuota)}});
    Sizings sizings;
    EtcdOptions options = *ParseEtcdUrl(server_->url("?quota=" + std::to_string(kQuota)));
    options.on_sizes = [&] { sizings.Add(); };
    store_ = std::move(*OpenEtcd(options));
    const Result<Term> term = Acquire();
    ASSERT_TRUE(term) << term.error().detail;
    std::uint64_t sequence = 0;
    std::vector<Execution> rows;
    // As a node does every half second; etcd's size is asked for beside it.
    const auto look = [&] {
        const int seen = sizings.count();
        Leaders();
        ASSERT_TRUE(sizings.AwaitAbove(seen));
    };
    while (store_->WhyFull().empty() && rows.size() < 200) {
        rows.push_back(make_.Fire("t-1", "e-" + std::to_string(rows.size())));
        rows.back().payload = Text(std::string(1 << 20, static_cast<char>('a' + rows.size() % 26)));
        const Result<void> came =
            Commit(*term, ++sequence, {ExecutionChange{Place::kNone, Place::kLive, rows.back()}});
        ASSERT_TRUE(came) << rows.size() << ": " << came.error().detail;
        ASSERT_NO_FATAL_FAILURE(look());
    }
    ASSERT_LT(rows.size(), 128u) << "it was not told in time";
    ASSERT_GT(rows.size(), 60u) << "nor too early";
    for (const Execution& row : rows) {
        const Result<void> ended =
            Commit(*term, ++sequence,
                   {ExecutionChange{Place::kLive, Place::kHistory, conformance::Finished(row)}});
        ASSERT_TRUE(ended) << ended.error().detail;
        ASSERT_NO_FATAL_FAILURE(look());
    }
    for (std::size_t i = 0; i < rows.size(); i += 10) {
        const Result<void> purged =
            Commit(*term, ++sequence, {Purge{make_.now() + Duration(3'600'000), {}, 10}});
        ASSERT_TRUE(purged) << purged.error().detail;
    }
    EXPECT_TRUE(List({})->empty());
    const auto deadline = SteadyClock::now() + std::chrono::seconds(60);
    // Room is there when what was written is discarded, which goes by what is written; little at a
    // time, since etcd discards it beside that and has little room left.
    while (!store_->WhyFull().empty() && SteadyClock::now() < deadline) {
        const Result<void> more =
            Commit(*term, ++sequence, {SettingPut{"k", Text(std::string(10'000, 'x'))}});
        ASSERT_TRUE(more) << more.error().detail;
        ASSERT_NO_FATAL_FAILURE(look());
    }
    EXPECT_EQ(store_->WhyFull(), "");
    store_.reset();
}

}  // namespace
}  // namespace takt::internal::etcd
