// A store is kept from others while it is copied, and it is noticed when that did not help.
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "archive/archive_testing.h"
#include "archive/store_lock.h"
#include "archive/transfer.h"
#include "store/embedded/temporary_directory.h"
#include "store/store_wrapper.h"
#include "store/unfinished_copy.h"
#include "store/wait.h"

namespace takt::internal {
namespace {

class StoreLockTest : public testing::Test {
  protected:
    void Fill(int finished = 2'500) {
        FillPartition(*from_, 0, finished);
        FillPartition(*from_, 7, 3);
    }
    std::string File(const char* name) { return directory_.path() + "/" + name; }

    TemporaryDirectory directory_;
    std::unique_ptr<Store> from_ = NewMemory();
};

// It is still at work: there is no scheduler to be stopped.
TEST_F(StoreLockTest, WhoMeetsACommandThatDoesNotEndIsToldOfIt) {
    const auto to = NewMemory();
    const auto lock = StoreLock::Take(*to, {{.partition = 0}}, StoreLock::For::kFilling);
    ASSERT_TRUE(lock);
    const auto refused =
        StoreLock::Take(*to, {{.partition = 0}}, StoreLock::For::kFilling, Duration(1));

    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_NE(refused.error().detail.find("another takt store command holds memory"),
              std::string::npos)
        << refused.error().detail;
    EXPECT_EQ(refused.error().detail.find("stop all schedulers"), std::string::npos);
}

// Calls something before it answers who leads, when it is asked for the nth time.
class AskedStore final : public StoreWrapper {
  public:
    AskedStore(Store& inner, int nth, std::function<void()> then)
        : StoreWrapper(&inner), left_(nth), then_(std::move(then)) {}
    void Leaders(Done<std::vector<LeaderRow>> done) override {
        if (--left_ == 0) then_();
        StoreWrapper::Leaders(std::move(done));
    }

  private:
    int left_;
    std::function<void()> then_;
};

// The command that was killed says nothing any more, and its term ends by itself some seconds later.
TEST_F(StoreLockTest, TheTermOfACommandThatWasKilledIsWaitedFor) {
    Fill(1);
    const auto to = NewMemory();
    for (const auto what : {StoreLock::For::kFilling, StoreLock::For::kReading}) {
        auto killed = StoreLock::Take(*from_, {{.partition = 0}}, what);
        ASSERT_TRUE(killed);
        // Twice to take the lead, and once to see whose it is.
        AskedStore asked(*from_, 5, [&] { killed->reset(); });

        const auto lock = StoreLock::Take(asked, {{.partition = 0}});

        EXPECT_TRUE(lock) << lock.error().detail;
        EXPECT_FALSE(*killed);
    }
}

// A scheduler is in its last moments when the heads are read, and has made a namespace.
TEST_F(StoreLockTest, WhatIsWrittenBeforeTheSourceIsLockedIsCopiedToo) {
    Fill(1);
    // After the first look at all of it.
    AskedStore asked(*from_, 2, [&] {
        FillPartition(*from_, 9, 2);
        Filler late(*from_, 7);
        late.maker.Pass(Duration(60'000));
        late.Commit({Insert(late.maker.OneOff("late"))});
        late.Resign();
    });
    const auto to = NewMemory();

    const auto done = CopyStore(asked, *to, {});

    ASSERT_TRUE(done) << done.error().detail;
    EXPECT_EQ(done->partitions, 3u);
    EXPECT_EQ(ShowStore(*to), ShowStore(*from_));
}

// A store that forgets who was announced last, as for a process that is held up for too long.
class LapsingStore final : public StoreWrapper {
  public:
    explicit LapsingStore(Store& inner) : StoreWrapper(&inner), inner_(inner) {}
    void Announce(const NodeRow& node, Duration ttl, Done<void> done) override {
        {
            const std::lock_guard held(mutex_);
            if (ttl > Duration(0)) node_ = node;
        }
        StoreWrapper::Announce(node, ttl, std::move(done));
    }
    // … and somebody else leads a partition meanwhile, and ends in order.
    void Lapse(Partition partition) {
        // Its renewals wait until that is over.
        const std::lock_guard held(mutex_);
        ASSERT_TRUE(AskStore<void>(
            [&](auto done) { inner_.Announce(node_, Duration(0), std::move(done)); }));
        Filler other(inner_, partition);
        other.Resign();
    }

  private:
    Store& inner_;
    std::mutex mutex_;
    NodeRow node_;
};

// The process or its machine was suspended, and a scheduler took the source and ended work that the
// copy still has to be run.
TEST_F(StoreLockTest, ASourceThatIsLedMeanwhileIsNoticed) {
    Fill();
    for (const Partition partition : {Partition(0), Partition(7), Partition(9)}) {
        LapsingStore source(*from_);
        bool lapsed = false;
        const auto held_up = [&](const Tally&) {
            if (!std::exchange(lapsed, true)) source.Lapse(partition);
        };
        const auto to = NewMemory();
        const auto copied = CopyStore(source, *to, held_up);
        lapsed = false;
        const auto written = BackUp(source, File("archive"), held_up);

        for (const auto& refused : {copied, written}) {
            ASSERT_FALSE(refused) << int(partition);
            EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
            EXPECT_NE(refused.error().detail.find("somebody else has led memory"),
                      std::string::npos)
                << refused.error().detail;
        }
        const auto marks = AskStore<std::vector<SettingPut>>(
            [&](auto done) { to->ListSettings(0, Text(kUnfinishedCopyKey), std::move(done)); });
        ASSERT_TRUE(marks);
        EXPECT_EQ(marks->size(), 1u) << "no scheduler serves half of it";
        EXPECT_FALSE(std::filesystem::exists(File("archive")));
        EXPECT_FALSE(std::filesystem::exists(File("archive.partial")));
    }
}

// Another copy was given meanwhile, or the mark was taken away and a scheduler has run.
TEST_F(StoreLockTest, ATargetThatIsLedMeanwhileIsLeftAlone) {
    LapsingStore target(*from_);
    const PartitionHead head{.partition = 0};
    const auto lock = StoreLock::Take(target, {head}, StoreLock::For::kFilling);
    ASSERT_TRUE(lock);
    ASSERT_TRUE((*lock)->LeadAnew(head));
    target.Lapse(0);

    const auto refused = (*lock)->LeadAnew(head);

    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    Fill();
    const auto to = NewMemory();
    LapsingStore other(*to);
    bool lapsed = false;
    const auto copied = CopyStore(*from_, other, [&](const Tally&) {
        if (!std::exchange(lapsed, true)) other.Lapse(0);
    });
    ASSERT_FALSE(copied);
    EXPECT_NE(copied.error().detail.find("somebody else has led memory"), std::string::npos)
        << copied.error().detail;
}

TEST_F(StoreLockTest, TwoBackupsOfOneNameDoNotWriteIntoEachOther) {
    Fill();
    const auto second = NewMemory();
    FillPartition(*second, 0, 1);
    // Of one that was killed.
    std::ofstream(File("archive.partial")) << std::string(1 << 20, 'x');
    std::optional<Result<Transferred>> refused;
    const auto written = BackUp(*from_, File("archive"), [&](const Tally&) {
        if (!refused) refused = BackUp(*second, File("archive"), {});
    });

    ASSERT_TRUE(refused);
    ASSERT_FALSE(*refused);
    EXPECT_EQ(refused->error().code, ErrorCode::kConflict);
    EXPECT_NE(refused->error().detail.find("another backup writes"), std::string::npos);
    ASSERT_TRUE(written) << written.error().detail;
    EXPECT_TRUE(CheckBackup(File("archive")));
    EXPECT_FALSE(std::filesystem::exists(File("archive.partial")));
}

}  // namespace
}  // namespace takt::internal
