// Rows that no tree leads to: they may be older than what the trees show, or none of ours at all.
#include "store/embedded/stray_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/embedded/page_file.h"
#include "store/embedded/salvage_fixture.h"
#include "store/embedded/schema.h"

namespace takt::internal::embedded {
namespace {

class StrayRowsTest : public SalvageTest {
  protected:
    // The first page of that kind that has the text.
    static std::size_t PageOf(const std::string& bytes, char kind, const std::string& text) {
        std::size_t at = kPage;
        while (at < bytes.size() &&
               (bytes[at] != kind || !bytes.substr(at, kPage).contains(text))) {
            at += kPage;
        }
        return at;
    }

    void BlankPages(char kind) {
        std::string bytes = Bytes();
        for (std::size_t at = kPage; at < bytes.size(); at += kPage) {
            if (bytes[at] != kind) continue;
            std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), kPage, '\0');
        }
        std::ofstream(file_, std::ios::binary | std::ios::trunc) << bytes;
    }

    // The process is killed after these changes, and its log is left; then the end of the file is gone,
    // and so are the pages by which its tables are searched.
    void KillAndCutOff(std::vector<Change> changes) {
        Open();
        ASSERT_TRUE(Commit(1, std::move(changes)));
        const std::string log = file_ + "-wal";
        std::filesystem::copy_file(log, file_ + ".log");
        const std::string bytes = Bytes();
        store_.reset();
        std::ofstream(file_, std::ios::binary | std::ios::trunc) << bytes;
        BlankPages(kTableInterior);
        CutOff(0.9);
        std::filesystem::rename(file_ + ".log", log);
    }

    // Rows of each kind, on so many pages that a log of a few rows does not make up for a tenth.
    void FillForCut() {
        Open();
        std::vector<Change> rows;
        make_.Pass(Duration(60'000));
        for (int i = 0; i < 1'500; ++i) {
            const std::string number = std::to_string(10'000 + i);
            ended_.push_back(Large(Finished(make_.OneOff("ended-" + number))));
            waiting_.push_back(Large(make_.OneOff("waiting-" + number)));
            rows.push_back(ExecutionChange{Place::kNone, Place::kHistory, ended_.back()});
            rows.push_back(ExecutionChange{Place::kNone, Place::kLive, waiting_.back()});
            if (i < 300) rows.push_back(TaskPut{make_.Recurring("task-" + number)});
        }
        ASSERT_TRUE(Commit(1, std::move(rows)));
        store_.reset();
    }
    std::vector<Change> ChangesBeforeTheKill() {
        Execution again = ended_[20];
        again.status = Status::kPending;
        return {ExecutionChange{Place::kLive, Place::kHistory, Finished(waiting_[10])},
                ExecutionChange{Place::kHistory, Place::kLive, again},
                TaskDelete{TaskId("task-10020")}};
    }
    bool HasTask(const std::string& id) {
        return Await<TaskRow>([&](Done<TaskRow> done) {
                   store_->FindTask(kDefaultPartition, TaskId(id), std::move(done));
               })
            .has_value();
    }

    RowMaker make_;
    std::vector<Execution> ended_;
    std::vector<Execution> waiting_;
};

// A file that is cut off does not take its log in, and its own pages are those of before.
TEST_F(StrayRowsTest, WhatTheLogHasEndedOrDeletedDoesNotComeBack) {
    FillForCut();
    KillAndCutOff(ChangesBeforeTheKill());

    const auto salvaged = SalvageEmbedded(Options());

    ASSERT_TRUE(salvaged) << salvaged.error().detail;
    EXPECT_EQ(salvaged->live_left_out, "");
    EXPECT_GE(TableOf(*salvaged, "tasks").gaps, 1u);
    EXPECT_TRUE(std::filesystem::exists(salvaged->kept + "-wal")) << "there was no log left";
    EXPECT_FALSE(std::filesystem::exists(file_ + ".with-log"));
    Open();
    EXPECT_EQ(Find("waiting-10010")->status, Status::kSuccess);
    EXPECT_EQ(Find("waiting-10011")->status, Status::kPending);
    EXPECT_EQ(Find("ended-10020")->status, Status::kPending);
    EXPECT_EQ(Find("ended-10021")->status, Status::kSuccess);
    EXPECT_FALSE(HasTask("task-10020"));
    EXPECT_TRUE(HasTask("task-10021"));
}

// Without the log in the pages nothing tells whether a row still lives.
TEST_F(StrayRowsTest, NothingIsTakenThatMayHaveEndedIfTheLogCannotBeBroughtIn) {
    FillForCut();
    KillAndCutOff(ChangesBeforeTheKill());
    vfs_unreadable_at = static_cast<long long>(Overwrite(kTableLeaf, Id(1'000)));
    EmbeddedOptions options = Options();
    options.vfs = FaultVfs();

    const auto salvaged = SalvageEmbedded(options);
    vfs_unreadable_at = -1;

    ASSERT_TRUE(salvaged) << salvaged.error().detail;
    EXPECT_THAT(salvaged->live_left_out, testing::HasSubstr("log of the last commits"));
    Open();
    EXPECT_FALSE(Find("waiting-10010"));
    EXPECT_FALSE(HasTask("task-10020"));
    EXPECT_TRUE(Find("ended-10021"));
}

// The old page of a row that has ended stands before the one that says so.
TEST_F(StrayRowsTest, WhatHasEndedOnALaterPageDoesNotComeBack) {
    Open();
    RowMaker make;
    make.Pass(Duration(60'000));
    const Execution waits = make.OneOff("waits");
    ASSERT_TRUE(Commit(1, {ExecutionChange{Place::kNone, Place::kLive, waits}}));
    store_.reset();
    std::string bytes = Bytes();
    const std::size_t live = PageOf(bytes, kTableLeaf, "waits");
    const std::string old = bytes.substr(live, kPage);
    Open();
    ASSERT_TRUE(Commit(1, {ExecutionChange{Place::kLive, Place::kHistory, Finished(waits)}}));
    store_.reset();
    bytes = Bytes();
    ASSERT_GT(PageOf(bytes, kTableLeaf, "waits"), live);
    // The page of an index has it; the table itself, and the way to the history, are gone.
    bytes.replace(PageOf(bytes, kIndexLeaf, ""), kPage, old);
    bytes.replace(live, kPage, std::string(kPage, '\xA5'));
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << bytes;
    BlankPages(kTableInterior);

    const auto salvaged = SalvageEmbedded(Options());

    ASSERT_TRUE(salvaged) << salvaged.error().detail;
    EXPECT_EQ(TableOf(*salvaged, "live").rows, 0u);
    EXPECT_EQ(TableOf(*salvaged, "history").rows, kRows + 1u);
}

// The other way round: what was ended lives again, and must not stand in both tables when it ends.
TEST_F(StrayRowsTest, WhatLivesAgainIsNotPutIntoTheHistoryToo) {
    Open();
    RowMaker make;
    make.Pass(Duration(60'000));
    const Execution again = make.OneOff("again");
    ASSERT_TRUE(Commit(1, {ExecutionChange{Place::kNone, Place::kHistory, Finished(again)}}));
    store_.reset();
    std::string bytes = Bytes();
    const std::string old = bytes.substr(PageOf(bytes, kTableLeaf, "again"), kPage);
    Open();
    ASSERT_TRUE(Commit(1, {ExecutionChange{Place::kHistory, Place::kLive, again}}));
    store_.reset();
    bytes = Bytes();
    bytes.replace(PageOf(bytes, kIndexLeaf, ""), kPage, old);
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << bytes;
    BlankPages(kTableInterior);

    const auto salvaged = SalvageEmbedded(Options());

    ASSERT_TRUE(salvaged) << salvaged.error().detail;
    EXPECT_EQ(TableOf(*salvaged, "live").rows, 1u);
    EXPECT_EQ(TableOf(*salvaged, "history").rows, std::uint64_t(kRows));
}

// Ids are unique within a namespace alone, and a line of a log names no namespace.
TEST_F(StrayRowsTest, LogsOfOneNamespaceAreNotPutIntoAnother) {
    constexpr Partition kOther = 7;
    const auto log = [](const Execution& row, char line) {
        return LogAppend{{.execution = row.id,
                          .index = row.serial,
                          .attempt = 1,
                          .at = row.created_at,
                          .lines = Text(std::string(5'000, line) + "\n")}};
    };
    Open();
    RowMaker make;
    make.Pass(Duration(60'000));
    const Execution first = Finished(make.OneOff("same"));
    ASSERT_TRUE(
        Commit(1, {ExecutionChange{Place::kNone, Place::kHistory, first}, log(first, 'a')}));
    const auto term = TakeLead(*store_, {.node = {.node = NodeId("node")}, .partition = kOther});
    ASSERT_TRUE(term) << term.error().detail;
    term_ = *term;
    RowMaker other(kOther);
    std::vector<Change> rows;
    for (int i = 0; i < 300; ++i) {
        const Execution row = Finished(other.OneOff(i == 0 ? "same" : Id(10'000 + i)));
        rows.push_back(ExecutionChange{Place::kNone, Place::kHistory, row});
        if (i > 0) rows.push_back(log(row, 'b'));
    }
    ASSERT_TRUE(Commit(1, std::move(rows)));
    store_.reset();
    BlankPages(kIndexInterior);

    const auto salvaged = SalvageEmbedded(Options());

    ASSERT_TRUE(salvaged) << salvaged.error().detail;
    EXPECT_GT(TableOf(*salvaged, "logs", kOther).rows, 200u);
    Connection file(file_, SQLITE_OPEN_READWRITE, "");
    EXPECT_EQ(file.QueryInt("SELECT count(*) FROM logs WHERE execution = 'same'"), 1);
    EXPECT_EQ(file.QueryInt("SELECT count(*) FROM p7_logs WHERE execution = 'same'"), 0);
}

// A page may claim anything: here a row of version 2 in a file of version 1.
TEST_F(StrayRowsTest, RowsWiderThanTheirTableAreLeftOut) {
    std::filesystem::remove(file_);
    std::int64_t root = 0;
    {
        std::ofstream(file_).flush();
        Connection file(file_, SQLITE_OPEN_READWRITE, "");
        file.Run("PRAGMA page_size = 8192");
        file.Run(Migrations().front());
        std::string columns = "c0 INTEGER PRIMARY KEY";
        for (int i = 1; i < 35; ++i) columns += ", c" + std::to_string(i);
        file.Run("CREATE TABLE stranger (" + columns + ")");
        file.Run("INSERT INTO stranger (c0, c1, c15) VALUES (1073741824, 'wide', 'success')");
        file.Run("PRAGMA user_version = 1");
        root = file.QueryInt("SELECT rootpage FROM sqlite_schema WHERE name = 'history'");
    }
    std::string bytes = Bytes();
    std::fill_n(bytes.begin() + (root - 1) * std::int64_t(kPage), kPage, '\xA5');
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << bytes;

    const auto salvaged = SalvageEmbedded(Options());

    ASSERT_TRUE(salvaged) << salvaged.error().detail;
    EXPECT_EQ(TableOf(*salvaged, "history").rows, 0u);
    EXPECT_EQ(TableOf(*salvaged, "stranger").rows, 1u);
}

TEST_F(StrayRowsTest, RowsOfMoreColumnsThanAnyTableHasAreNotRead) {
    const std::string path = directory_.path() + "/wide.db";
    {
        std::ofstream(path).flush();
        Connection file(path, SQLITE_OPEN_READWRITE, "");
        for (const int columns : {100, 101}) {
            std::string names;
            for (int i = 0; i < columns; ++i) names += (i ? ", c" : "c") + std::to_string(i);
            file.Run("CREATE TABLE of" + std::to_string(columns) + " (" + names + ")");
            file.Run("INSERT INTO of" + std::to_string(columns) + " (c99) VALUES (1)");
        }
    }
    auto file = PageFile::Open(path);
    ASSERT_TRUE(file) << file.error().detail;
    std::vector<std::size_t> widths;
    file->ForEachRow([&](const FoundRow& row) { widths.push_back(row.values.size()); });
    EXPECT_EQ(widths, std::vector<std::size_t>{100});
}

}  // namespace
}  // namespace takt::internal::embedded
