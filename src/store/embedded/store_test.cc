// The embedded store when its disk misbehaves, and the rules of its writer.
#include "store/embedded/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/log.h"
#include "store/embedded/sqlite.h"
#include "store/embedded/store_fixture.h"
#include "store/lead.h"

namespace takt::internal::embedded {
namespace {

using testing::HasSubstr;

// Somebody starts a second scheduler in the same directory.
TEST_F(EmbeddedStoreTest, ASecondOpenerIsToldWhoIsThere) {
    const auto second = OpenEmbedded({.directory = directory_.path()});

    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kConflict);
    EXPECT_THAT(second.error().detail,
                HasSubstr("another process (pid " + std::to_string(getpid()) + ")"));

    store_.reset();
    EXPECT_TRUE(OpenEmbedded({.directory = directory_.path()}));
}

// The store's directory is on a read-only disk, or belongs to somebody else.
TEST(EmbeddedStoreOpenTest, ADirectoryThatCannotBeWrittenIsRefused) {
    for (const char* path : {"/proc/takt-data", "/proc/self", "/dev/null/takt-data"}) {
        const auto store = OpenEmbedded({.directory = path});
        ASSERT_FALSE(store) << path;
        EXPECT_EQ(store.error().code, ErrorCode::kInvalid) << path;
        EXPECT_THAT(store.error().detail, HasSubstr(path));
        EXPECT_THAT(store.error().detail, HasSubstr("choose another --store"));
    }
}

// The disk fills up; an hour later somebody frees space. Nothing is lost and nobody restarts Takt.
TEST_F(EmbeddedStoreTest, AFullDiskRefusesCommitsUntilThereIsSpace) {
    ASSERT_TRUE(Commit(1, {SettingPut{"a", "1"}}));

    vfs_write_code = SQLITE_FULL;
    for (int i = 0; i < 3; ++i) {
        const Result<void> full = Commit(2, {SettingPut{"b", "2"}});
        ASSERT_FALSE(full);
        EXPECT_EQ(full.error().code, ErrorCode::kUnavailable);
        EXPECT_THAT(full.error().detail, HasSubstr("full"));
    }
    EXPECT_EQ(Settings(), 1u) << "reads go on";

    vfs_write_code = 0;
    EXPECT_TRUE(Commit(2, {SettingPut{"b", "2"}}));
    EXPECT_EQ(Settings(), 2u);
}

// A node that cannot write does not lead, also not in name only: clients would be sent there.
TEST_F(EmbeddedStoreTest, ALeadThatCannotBeWrittenDownIsNone) {
    const auto leader = [&] {
        using Rows = std::vector<LeaderRow>;
        const auto rows = Await<Rows>([&](Done<Rows> done) { store_->Leaders(std::move(done)); });
        return rows ? LeaderOf(*rows, 0) : std::nullopt;
    };
    ASSERT_TRUE(leader());

    vfs_write_code = SQLITE_FULL;
    const auto term = TakeLead(*store_, {.node = {.node = NodeId("node")}});
    ASSERT_FALSE(term);
    EXPECT_EQ(term.error().code, ErrorCode::kUnavailable);

    EXPECT_FALSE(leader());
}

// Somebody lists all executions of a type that does not exist, over years of history. The leader's
// questions must not wait for that, and it must come to an end.
TEST_F(EmbeddedStoreTest, AListThatTakesTooLongIsEnded) {
    store_.reset();
    auto store = OpenEmbedded({.directory = directory_.path(), .read_deadline = Duration(0)});
    ASSERT_TRUE(store) << store.error().detail;
    store_ = std::move(*store);
    term_ = *TakeLead(*store_, {.node = {.node = NodeId("node")}});
    RowMaker make;
    std::vector<Change> changes;
    for (int i = 0; i < 4000; ++i) {
        changes.push_back(ExecutionChange{Place::kNone, Place::kHistory,
                                          Finished(make.OneOff("e-" + std::to_string(i)))});
    }
    ASSERT_TRUE(Commit(1, std::move(changes)));

    using Rows = std::vector<Execution>;
    const auto list = Await<Rows>([&](Done<Rows> done) {
        store_->ListExecutions({.type = Text("nosuch")}, std::move(done));
    });
    ASSERT_FALSE(list);
    EXPECT_EQ(list.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(list.error().detail, HasSubstr("narrow"));
    using Found = std::vector<std::optional<Execution>>;
    const auto found = Await<Found>([&](Done<Found> done) {
        store_->FindExecutions(kDefaultPartition, std::vector(4000, ExecutionId("e-7")),
                               std::move(done));
    });
    EXPECT_TRUE(found) << "what the leader asks for has its time";
}

// A batch runs again what its own purge would delete.
TEST_F(EmbeddedStoreTest, APurgeTakesNothingFromUnderItsOwnBatch) {
    RowMaker make;
    const Execution dead = Finished(make.OneOff("e-1"), Status::kFailed);
    ASSERT_TRUE(Commit(1, {ExecutionChange{Place::kNone, Place::kHistory, dead}}));
    make.Pass(Duration(60'000));

    const Result<void> both =
        Commit(2, {Purge{.finished_before = make.now(), .events_before = make.now()},
                   ExecutionChange{Place::kHistory, Place::kLive, conformance::Redriven(dead)}});

    EXPECT_TRUE(both) << both.error().detail;
    const auto page =
        Await<LoadPage>([&](Done<LoadPage> done) { store_->Load(0, "", std::move(done)); });
    EXPECT_EQ(page->executions.size(), 1u);
}

// An operator edited a row by hand. It must not bring down whoever loads it.
TEST_F(EmbeddedStoreTest, ARowOutOfBoundsIsUndecodable) {
    RowMaker make;
    ASSERT_TRUE(Commit(1, {ExecutionChange{Place::kNone, Place::kLive, make.OneOff("e-1")},
                           ExecutionChange{Place::kNone, Place::kLive, make.OneOff("e-2")},
                           ExecutionChange{Place::kNone, Place::kLive, make.OneOff("e-3")}}));
    {
        Connection tool(directory_.path() + "/takt.db", SQLITE_OPEN_READWRITE, "");
        tool.Run("UPDATE live SET priority = 12 WHERE id = 'e-1'");
        tool.Run("UPDATE live SET status = 'scheduled', worker = NULL WHERE id = 'e-2'");
        tool.Run("UPDATE live SET queue = '' WHERE id = 'e-3'");
    }

    const auto page =
        Await<LoadPage>([&](Done<LoadPage> done) { store_->Load(0, "", std::move(done)); });

    ASSERT_TRUE(page) << page.error().detail;
    ASSERT_EQ(page->executions.size(), 3u);
    for (const Execution& row : page->executions) {
        EXPECT_EQ(row.status, Status::kFailed) << row.id.view();
        ASSERT_TRUE(row.outcome);
        EXPECT_EQ(row.outcome->reason, Reason::kUndecodable) << row.id.view();
    }
}

// The disk fails to sync. What it has cannot be known, and a later success would mean nothing.
TEST_F(EmbeddedStoreTest, AfterAFailedSyncNothingIsWrittenUntilARestart) {
    ASSERT_TRUE(Commit(1, {SettingPut{"a", "1"}}));

    vfs_sync_code = SQLITE_IOERR_FSYNC;
    const Result<void> doubtful = Commit(2, {SettingPut{"b", "2"}});
    ASSERT_FALSE(doubtful);
    EXPECT_EQ(doubtful.error().code, ErrorCode::kUnknown);

    vfs_sync_code = 0;
    const Result<void> later = Commit(2, {SettingPut{"b", "2"}});
    ASSERT_FALSE(later);
    EXPECT_EQ(later.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(later.error().detail, HasSubstr("restart"));
    const auto term = TakeLead(*store_, {.node = {.node = NodeId("node")}});
    EXPECT_FALSE(term);

    store_.reset();
    Open();
    EXPECT_TRUE(Commit(1, {SettingPut{"c", "3"}}));
}

// The disk fails to write.
TEST_F(EmbeddedStoreTest, AfterAFailedWriteNothingIsWrittenUntilARestart) {
    vfs_write_code = SQLITE_IOERR_WRITE;
    EXPECT_FALSE(Commit(1, {SettingPut{"a", "1"}}));
    vfs_write_code = 0;
    EXPECT_FALSE(Commit(1, {SettingPut{"a", "1"}}));

    store_.reset();
    Open();
    EXPECT_EQ(Settings(), 0u);
    EXPECT_TRUE(Commit(1, {SettingPut{"a", "1"}}));
}

// Three commits wait and share one transaction; the one in the middle is a bug of ours.
TEST_F(EmbeddedStoreTest, ABatchThatIsRefusedDoesNotTakeItsNeighboursAlong) {
    RowMaker make;
    const Execution row = make.OneOff("e-1");
    const std::vector<std::vector<Change>> contents = {
        {SettingPut{"a", "1"}},
        {SettingPut{"b", "2"}, ExecutionChange{Place::kLive, Place::kHistory, Finished(row)}},
        {SettingPut{"c", "3"}}};
    std::vector<std::promise<Result<void>>> answers(contents.size());
    for (std::size_t i = 0; i < contents.size(); ++i) {
        store_->Commit(std::make_shared<const Batch>(Batch{term_, i + 1, 0, contents[i]}),
                       [&, i](Result<void> done) { answers[i].set_value(std::move(done)); });
    }

    EXPECT_TRUE(answers[0].get_future().get());
    const Result<void> wrong = answers[1].get_future().get();
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, ErrorCode::kInvalid);
    const Result<void> next = answers[2].get_future().get();
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(Settings(), 1u);
    EXPECT_TRUE(Commit(2, {SettingPut{"c", "3"}}));
}

// The record of one recurring task was damaged. The leader must come up and fire the others; the
// operator must see which one it is, and its row must not be lost.
TEST_F(EmbeddedStoreTest, ATaskThatCannotBeReadIsSetAsideAndTold) {
    RowMaker make;
    ASSERT_TRUE(Commit(1, {TaskPut{make.Recurring("bad")}, TaskPut{make.Recurring("good")}}));
    {
        Connection tool(directory_.path() + "/takt.db", SQLITE_OPEN_READWRITE, "");
        tool.Run("UPDATE tasks SET record = x'ffffffff' WHERE id = 'bad'");
    }
    const LogCapture log;

    const auto page =
        Await<LoadPage>([&](Done<LoadPage> done) { store_->Load(0, "", std::move(done)); });
    ASSERT_TRUE(page) << page.error().detail;
    ASSERT_EQ(page->tasks.size(), 1u);
    EXPECT_EQ(page->tasks[0].task->id, TaskId("good"));
    EXPECT_THAT(log.lines(), testing::Contains(HasSubstr("task=bad")));
    using Tasks = std::vector<TaskRow>;
    const auto list =
        Await<Tasks>([&](Done<Tasks> done) { store_->ListTasks({}, std::move(done)); });
    ASSERT_TRUE(list);
    EXPECT_EQ(list->size(), 1u);
    const auto bad = Await<TaskRow>([&](Done<TaskRow> done) {
        store_->FindTask(kDefaultPartition, TaskId("bad"), std::move(done));
    });
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(bad.error().detail, HasSubstr("task bad cannot be read"));
    // It is put again, and all is well.
    ASSERT_TRUE(Commit(2, {TaskPut{make.Recurring("bad")}}));
    EXPECT_TRUE(Await<TaskRow>([&](Done<TaskRow> done) {
        store_->FindTask(kDefaultPartition, TaskId("bad"), std::move(done));
    }));
}

// An operator looks inside with SQLite's own tool while Takt works.
TEST_F(EmbeddedStoreTest, AnotherToolCanReadTheTables) {
    RowMaker make;
    ASSERT_TRUE(Commit(1, {ExecutionChange{Place::kNone, Place::kLive, make.OneOff("e-1")}}));

    Connection tool(directory_.path() + "/takt.db", SQLITE_OPEN_READONLY, "");

    EXPECT_EQ(tool.QueryText("SELECT status FROM live WHERE id = 'e-1'"), "pending");
    EXPECT_TRUE(Commit(2, {SettingPut{"a", "1"}}));
}

}  // namespace
}  // namespace takt::internal::embedded
