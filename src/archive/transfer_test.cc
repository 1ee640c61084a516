#include "archive/transfer.h"

#include <filesystem>
#include <fstream>

#include "archive/archive_testing.h"
#include "archive/row_writer.h"
#include "store/embedded/temporary_directory.h"
#include "store/many_logs.h"
#include "store/open.h"
#include "store/store_wrapper.h"
#include "store/wait.h"

namespace takt::internal {
namespace {

class TransferTest : public testing::Test {
  protected:
    void Fill(int finished = 2'500) {
        FillPartition(*from_, 0, finished);
        FillPartition(*from_, 7, 3);
    }
    std::unique_ptr<Store> OpenFile(const std::string& name) {
        auto store = OpenStore("file:" + directory_.path() + "/" + name);
        EXPECT_TRUE(store) << store.error().detail;
        return store ? std::move(*store) : nullptr;
    }
    std::string File(const char* name) { return directory_.path() + "/" + name; }
    Result<Transferred> RestoreFile(const char* name, Store& to) {
        const auto archive = CheckBackup(File(name));
        if (!archive) return std::unexpected(archive.error());
        return Restore(*archive, to, {});
    }

    TemporaryDirectory directory_;
    std::unique_ptr<Store> from_ = NewMemory();
};

std::uint64_t EpochOf(Store& store, Partition partition) {
    const auto rows =
        AskStore<std::vector<LeaderRow>>([&](auto done) { store.Leaders(std::move(done)); });
    const auto row = rows ? RowOf(*rows, partition) : std::nullopt;
    return row ? row->epoch : 0;
}

TEST_F(TransferTest, ACopyHasEveryRow) {
    Fill();
    const auto before = ShowStore(*from_);
    ASSERT_GT(before.size(), 2'500u);
    const auto to = OpenFile("copy");
    const auto done = CopyStore(*from_, *to, {});
    ASSERT_TRUE(done) << done.error().detail;
    EXPECT_EQ(ShowStore(*to), before);
    EXPECT_EQ(ShowStore(*from_), before) << "the source stays as it is";
    EXPECT_EQ(done->partitions, 2u);
    EXPECT_EQ(done->rows.of(RowKind::kHistory).rows, 2'503u);
    EXPECT_EQ(done->rows.of(RowKind::kLog).rows, 2 + 25 + 2 + 1u);
    // Two lines that say how far the serials are.
    EXPECT_EQ(done->rows.sum().rows, before.size() - 2);
}

// A store whose every question is a round trip: most executions have no log, and are not asked about
// one by one.
class DistantStore final : public StoreWrapper, public ReadsManyLogs {
  public:
    explicit DistantStore(Store* inner) : StoreWrapper(inner) {}
    void ReadLog(Partition partition, const ExecutionId& execution, Serial after, std::size_t limit,
                 Done<std::vector<LogChunk>> done) override {
        ++questions;
        StoreWrapper::ReadLog(partition, execution, after, limit, std::move(done));
    }
    void ReadLogs(Partition partition, std::vector<ExecutionId> executions,
                  Done<std::vector<LogBeginning>> done) override {
        ++questions;
        std::vector<LogBeginning> all;
        for (const ExecutionId& id : executions) {
            auto chunks = AskStore<std::vector<LogChunk>>([&](auto answer) {
                StoreWrapper::ReadLog(partition, id, 0, 1, std::move(answer));
            });
            ASSERT_TRUE(chunks) << chunks.error().detail;
            const bool more = !chunks->empty();
            all.push_back({std::move(*chunks), more});
        }
        done(std::move(all));
    }

    int questions = 0;
};

TEST_F(TransferTest, LogsOfManyExecutionsAreAskedForTogether) {
    Fill();
    const auto before = ShowStore(*from_);
    DistantStore distant(from_.get());
    EXPECT_EQ(ShowStore(distant), before);
    // A hundred executions in one question; the 28 that have a log, and one of those twice, are asked
    // about again.
    EXPECT_LE(distant.questions, 26 + 28 + 28 + 4);
}

// Small batches, and the times of the history that came in each term.
class DatingStore final : public StoreWrapper {
  public:
    explicit DatingStore(Store* inner) : StoreWrapper(inner) {}
    StoreLimits limits() const override {
        StoreLimits limits = StoreWrapper::limits();
        limits.changes_max = 5;
        return limits;
    }
    void Commit(BatchPtr batch, Done<void> done) override {
        for (const Change& change : batch->changes) {
            const auto* execution = std::get_if<ExecutionChange>(&change);
            if (!execution || execution->after != Place::kHistory) continue;
            days[batch->term.epoch].push_back(TimeOf(execution->row.serial));
        }
        StoreWrapper::Commit(std::move(batch), std::move(done));
    }

    std::map<std::uint64_t, std::vector<Time>> days;  // By epoch.
};

// The history comes the newest first. A store that purges what finished in a term in the order in which
// it came (etcd) would hold all of it back until the newest is old.
TEST_F(TransferTest, EachDayOfTheHistoryIsOfATermOfItsOwn) {
    Filler filler(*from_, 0);
    for (int i = 0; i < 60; ++i) {
        filler.Commit({InsertFinished(filler.maker.OneOff("done" + std::to_string(i)))});
        filler.maker.Pass(Duration(std::chrono::hours(2)));
    }
    filler.Resign();
    const auto before = ShowStore(*from_);
    const auto to = NewMemory();
    DatingStore dating(to.get());

    const auto done = CopyStore(*from_, dating, {});

    ASSERT_TRUE(done) << done.error().detail;
    EXPECT_EQ(ShowStore(*to), before);
    EXPECT_GE(dating.days.size(), 5u);
    EXPECT_LE(dating.days.size(), 6u);
    for (const auto& [epoch, times] : dating.days) {
        const auto [first, last] = std::ranges::minmax(times);
        EXPECT_LE(last - first, std::chrono::hours(24 + 6)) << "a day, and what is left of a batch";
    }
}

TEST_F(TransferTest, EpochsGoOnAboveThoseOfTheSource) {
    Fill(1);
    for (int i = 0; i < 5; ++i) Filler(*from_, 7).Resign();
    const std::uint64_t epoch = EpochOf(*from_, 7);
    const auto to = NewMemory();
    ASSERT_TRUE(CopyStore(*from_, *to, {}));
    EXPECT_GT(EpochOf(*to, 7), epoch);
}

TEST_F(TransferTest, ABackupIsRestoredWhole) {
    Fill();
    const auto before = ShowStore(*from_);
    const auto written = BackUp(*from_, File("archive"), {});
    ASSERT_TRUE(written) << written.error().detail;
    EXPECT_EQ(written->file_bytes, std::filesystem::file_size(File("archive")));
    EXPECT_EQ(std::filesystem::status(File("archive")).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    const auto to = NewMemory();
    const auto restored = RestoreFile("archive", *to);
    ASSERT_TRUE(restored) << restored.error().detail;
    EXPECT_EQ(ShowStore(*to), before);
}

TEST_F(TransferTest, WhatIsThereIsNotWrittenOver) {
    Fill(1);
    ASSERT_TRUE(BackUp(*from_, File("archive"), {}));
    const auto again = BackUp(*from_, File("archive"), {});
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, ErrorCode::kConflict);
    const auto restored = RestoreFile("archive", *from_);
    ASSERT_FALSE(restored);
    EXPECT_EQ(restored.error().code, ErrorCode::kConflict);
    EXPECT_EQ(restored.error().detail, "memory is not empty; give an empty one");
}

TEST_F(TransferTest, APartitionWithEventsAloneIsNotEmpty) {
    Fill(1);
    const auto to = NewMemory();
    Filler filler(*to, 7);
    filler.Commit({EventAppend{filler.maker.MakeEvent(EventType::kLeaderChanged)}});
    filler.Resign();
    const auto copied = CopyStore(*from_, *to, {});
    ASSERT_FALSE(copied);
    EXPECT_EQ(copied.error().code, ErrorCode::kConflict);
}

TEST_F(TransferTest, NothingIsReadOrWrittenWhileASchedulerLeads) {
    Fill(1);
    const auto to = NewMemory();
    {
        Filler leads(*from_, 7);
        for (const auto& refused :
             {CopyStore(*from_, *to, {}), BackUp(*from_, File("archive"), {})}) {
            ASSERT_FALSE(refused);
            EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
            EXPECT_NE(refused.error().detail.find("scheduler node at http://x leads memory"),
                      std::string::npos)
                << refused.error().detail;
        }
        leads.Resign();
    }
    Filler leads(*to, 0);
    EXPECT_FALSE(CopyStore(*from_, *to, {}));
    EXPECT_FALSE(std::filesystem::exists(File("archive")));
    EXPECT_FALSE(std::filesystem::exists(File("archive.partial")));
}

// Takes small batches, and fails the commits after some.
class FailingStore final : public StoreWrapper {
  public:
    FailingStore(Store& store, int commits) : StoreWrapper(&store), left_(commits) {}
    StoreLimits limits() const override {
        StoreLimits limits = StoreWrapper::limits();
        limits.changes_max = 100;
        return limits;
    }
    void Commit(BatchPtr batch, Done<void> done) override {
        if (left_-- > 0) return StoreWrapper::Commit(std::move(batch), std::move(done));
        std::thread([done = std::move(done)]() mutable {
            done(Fail(ErrorCode::kInvalid, "the plug was pulled"));
        }).detach();
    }

  private:
    int left_;
};

TEST_F(TransferTest, ACopyThatWasCutOffGoesOnWhereItStopped) {
    Fill();
    const auto before = ShowStore(*from_);
    const auto to = NewMemory();
    {
        FailingStore failing(*to, 2);
        ASSERT_FALSE(CopyStore(*from_, failing, {}));
    }
    EXPECT_NE(ShowStore(*to), before);
    const auto done = CopyStore(*from_, *to, {});
    ASSERT_TRUE(done) << done.error().detail;
    EXPECT_GT(done->resumed, 0u);
    EXPECT_EQ(ShowStore(*to), before);
}

// Cut off after each commit, the last ones included, which only take marks away.
TEST_F(TransferTest, ACopyCanBeCutOffAnywhere) {
    Fill(150);
    const auto before = ShowStore(*from_);
    for (int commits = 0;; ++commits) {
        const auto to = NewMemory();
        {
            FailingStore failing(*to, commits);
            if (CopyStore(*from_, failing, {})) break;
        }
        const auto done = CopyStore(*from_, *to, {});
        ASSERT_TRUE(done) << commits << " " << done.error().detail;
        EXPECT_EQ(ShowStore(*to), before) << commits;
        ASSERT_LT(commits, 20);
    }
}

TEST_F(TransferTest, ARestoreThatWasCutOffIsFinishedByTheSameFileOnly) {
    Fill();
    ASSERT_TRUE(BackUp(*from_, File("one"), {}));
    ASSERT_TRUE(BackUp(*from_, File("other"), {}));
    const auto to = NewMemory();
    {
        FailingStore failing(*to, 2);
        ASSERT_FALSE(RestoreFile("one", failing));
    }
    const auto refused = RestoreFile("other", *to);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    ASSERT_TRUE(RestoreFile("one", *to));
    EXPECT_EQ(ShowStore(*to), ShowStore(*from_));
}

TEST_F(TransferTest, WhatWouldRunComesLast) {
    Fill(2'500);
    const auto to = NewMemory();
    {
        FailingStore failing(*to, 4);
        ASSERT_FALSE(CopyStore(*from_, failing, {}));
    }
    // Of the partition that was being written there is history, and nothing that a leader acts on.
    const auto page = AskStore<LoadPage>([&](auto done) { to->Load(0, "", std::move(done)); });
    ASSERT_TRUE(page);
    EXPECT_TRUE(page->executions.empty());
    EXPECT_TRUE(page->tasks.empty());
    ASSERT_EQ(page->settings.size(), 1u);
    EXPECT_EQ(page->settings[0].key, kUnfinishedCopyKey);
}

// Schedulers look for the mark of `default` alone, which is written after all others.
TEST_F(TransferTest, TheWholeStoreIsMarkedBeforeItsFirstRow) {
    Fill(300);
    for (int commits = 1; commits < 6; ++commits) {
        const auto to = NewMemory();
        FailingStore failing(*to, commits);
        ASSERT_FALSE(CopyStore(*from_, failing, {}));
        const auto marks = AskStore<std::vector<SettingPut>>(
            [&](auto done) { to->ListSettings(0, Text(kUnfinishedCopyKey), std::move(done)); });
        ASSERT_TRUE(marks);
        EXPECT_EQ(marks->size(), 1u) << commits;
    }
}

TEST_F(TransferTest, ADamagedFileWritesNothing) {
    Fill();
    ASSERT_TRUE(BackUp(*from_, File("archive"), {}));
    const auto size = std::filesystem::file_size(File("archive"));
    const auto to = NewMemory();
    const auto empty = ShowStore(*to);
    const auto refused = [&](const char* why) {
        const auto restored = RestoreFile("archive", *to);
        ASSERT_FALSE(restored);
        EXPECT_EQ(restored.error().code, ErrorCode::kInvalid);
        EXPECT_NE(restored.error().detail.find(why), std::string::npos) << restored.error().detail;
        EXPECT_EQ(ShowStore(*to), empty);
    };
    {
        std::fstream file(File("archive"), std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(static_cast<std::streamoff>(size / 2));
        file.put('\x5a');
    }
    refused("is damaged in block ");
    std::filesystem::resize_file(File("archive"), size / 3);
    refused("is cut off in block ");
    std::ofstream(File("archive")) << "SQLite format 3";
    refused("is no backup that this version can read");
}

}  // namespace
}  // namespace takt::internal
