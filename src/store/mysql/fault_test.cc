// The MySQL store when the server, the network or another client misbehaves.
#include "store/mysql/store_fixture.h"

namespace takt::internal::mysql {
namespace {

class MysqlFaultTest : public MysqlStoreTest {};

// The database server is killed and comes back while a scheduler runs. Nobody restarts the
// scheduler.
TEST_F(MysqlFaultTest, AStoreGoesOnAfterTheServerCameBack) {
    const auto store = Open();
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    CommitOneOff(*store, *term, "e-1");

    TestServer().process().Kill();
    const BatchPtr batch = MakeBatch(*term, 2, {InsertLive(make_.OneOff("e-2"))});
    const Result<void> lost = Commit(*store, batch);
    const auto unread = List(*store);
    ASSERT_TRUE(TestServer().process().Restart());

    ASSERT_FALSE(lost);
    EXPECT_TRUE(lost.error().code == ErrorCode::kUnknown ||
                lost.error().code == ErrorCode::kUnavailable);
    EXPECT_FALSE(unread);
    const Result<void> repeated = WhenBack([&] { return Commit(*store, batch); });
    EXPECT_TRUE(repeated) << repeated.error().detail;
    const Result<std::vector<Execution>> rows = WhenBack([&] { return List(*store); });
    ASSERT_TRUE(rows) << rows.error().detail;
    EXPECT_EQ(rows->size(), 2u);
}

// An operator's script, or a backup, locks rows in the other order. The server ends one of the two;
// it must not be the scheduler's user who notices.
TEST_F(MysqlFaultTest, ADeadlockIsRunAgainAsAWhole) {
    const auto store = Open();
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    const Execution row = CommitOneOff(*store, *term, "e-1");
    Connection other = database_.Root();
    // The server gives up the transaction that has changed less.
    other.Run(
        "CREATE TABLE bulk (n INT);START TRANSACTION;INSERT INTO bulk SELECT seq FROM "
        "seq_1_to_2000;"
        "UPDATE takt_live SET losses = 7");
    const Execution running = conformance::Running(conformance::Scheduled(row, "w-1"));
    auto answer =
        BeginCommit(*store, MakeBatch(*term, 2,
                                      {SettingPut{"key", "value"},
                                       ExecutionChange{Place::kLive, Place::kLive, running}}));
    WaitingSession();

    other.Run("SELECT * FROM takt_terms FOR UPDATE");  // Returns because the commit was given up.
    other.Run("ROLLBACK");

    const Result<void> done = answer.get();
    ASSERT_TRUE(done) << done.error().detail;
    EXPECT_EQ(conformance::Show(List(*store)->at(0)), conformance::Show(running));
    Rows deadlocks = other.Query("SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'");
    ASSERT_TRUE(deadlocks.Next());
    EXPECT_GE(deadlocks.Int(1), 1);
}

// Somebody left a transaction open in a console. A commit waits a while, then says why it cannot.
TEST_F(MysqlFaultTest, ALockThatStaysIsAnErrorThatSaysSo) {
    const auto store = OpenWithTimeout(std::chrono::seconds(2));
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    Connection other = database_.Root();
    other.Run("START TRANSACTION;SELECT * FROM takt_terms FOR UPDATE");

    const BatchPtr batch = MakeBatch(*term, 1, {SettingPut{"key", "value"}});
    const Result<void> refused = Commit(*store, batch);
    other.Run("ROLLBACK");

    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(refused.error().detail.find("locked"), std::string::npos) << refused.error().detail;
    EXPECT_TRUE(Commit(*store, batch));
}

// The server is made read-only for a switch-over, and writable again.
TEST_F(MysqlFaultTest, AReadOnlyServerIsUnavailableUntilItIsNot) {
    const auto store = Open();
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    const BatchPtr batch = MakeBatch(*term, 1, {SettingPut{"key", "value"}});
    Connection root = Root();
    root.Run("SET GLOBAL read_only = 1");

    const Result<void> refused = Commit(*store, batch);
    const Result<void> announced = Announce(*store, "node-a");
    const bool readable = List(*store).has_value();
    const auto opened = OpenMysql(database_.options());
    root.Run("SET GLOBAL read_only = 0");

    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(refused.error().detail.find("read-only"), std::string::npos);
    ASSERT_FALSE(announced);
    EXPECT_EQ(announced.error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(readable);
    EXPECT_TRUE(opened) << opened.error().detail;
    EXPECT_TRUE(Announce(*store, "node-a"));
    EXPECT_TRUE(Commit(*store, batch));
}

// An operator kills the session in which a commit is under way. Whether it was applied is not
// known; sending the very same batch again settles it.
TEST_F(MysqlFaultTest, AKilledCommitIsUnknownAndItsRepetitionAppliesItOnce) {
    const auto store = Open();
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    const Execution row = CommitOneOff(*store, *term, "e-1");
    Connection other = LockLiveRows();
    const BatchPtr batch = MakeBatch(*term, 2, {InsertLive(make_.OneOff("e-2")), FinishLive(row)});
    auto answer = BeginCommit(*store, batch);

    Root().Run(fmt::format("KILL {}", WaitingSession()));

    const Result<void> killed = answer.get();
    ASSERT_FALSE(killed);
    EXPECT_EQ(killed.error().code, ErrorCode::kUnknown) << killed.error().detail;
    other.Run("ROLLBACK");
    EXPECT_EQ(List(*store)->size(), 1u);
    EXPECT_TRUE(Commit(*store, batch));
    EXPECT_TRUE(Commit(*store, batch));
    EXPECT_EQ(List(*store)->size(), 2u);
}

// Only the statement is killed, as monitoring tools do with slow ones: nothing was applied, and the
// session goes on.
TEST_F(MysqlFaultTest, AKilledStatementLeavesNothingBehind) {
    const auto store = Open();
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    const Execution row = CommitOneOff(*store, *term, "e-1");
    Connection other = LockLiveRows();
    const BatchPtr batch = MakeBatch(*term, 2, {SettingPut{"key", "value"}, FinishLive(row)});
    auto answer = BeginCommit(*store, batch);

    Root().Run(fmt::format("KILL QUERY {}", WaitingSession()));

    const Result<void> killed = answer.get();
    ASSERT_FALSE(killed);
    EXPECT_EQ(killed.error().code, ErrorCode::kUnavailable) << killed.error().detail;
    other.Run("ROLLBACK");
    Rows settings = other.Query("SELECT COUNT(*) FROM takt_settings");
    ASSERT_TRUE(settings.Next());
    EXPECT_EQ(settings.Int(0), 0);
    EXPECT_TRUE(Commit(*store, batch));
}

// The server's machine stalls. Every operation is answered all the same.
TEST_F(MysqlFaultTest, AStalledServerIsAnsweredForWithinTheDeadline) {
    const auto store = OpenWithTimeout(std::chrono::seconds(1));
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    ASSERT_TRUE(List(*store));
    const BatchPtr batch = MakeBatch(*term, 1, {SettingPut{"key", "value"}});
    TestServer().process().Pause();
    const auto begin = std::chrono::steady_clock::now();

    auto commit = BeginCommit(*store, batch);
    std::vector<std::future<Result<std::vector<Execution>>>> reads;
    for (int i = 0; i < 100; ++i) {
        const auto answer = std::make_shared<std::promise<Result<std::vector<Execution>>>>();
        reads.push_back(answer->get_future());
        store->ListExecutions(
            {}, [answer](Result<std::vector<Execution>> rows) { answer->set_value(rows); });
    }
    const Result<void> announced = Announce(*store, "node-a");
    const Result<void> committed = commit.get();
    for (auto& read : reads) EXPECT_FALSE(read.get());
    const auto time = std::chrono::steady_clock::now() - begin;
    TestServer().process().Continue();

    ASSERT_FALSE(announced);
    EXPECT_EQ(announced.error().code, ErrorCode::kUnavailable) << announced.error().detail;
    ASSERT_FALSE(committed);
    EXPECT_TRUE(committed.error().code == ErrorCode::kUnknown ||
                committed.error().code == ErrorCode::kUnavailable)
        << committed.error().detail;
    // A wait in the queue, an attempt, and one more on a new connection; doubled for a loaded
    // machine.
    EXPECT_LT(time, std::chrono::seconds(8));
    const Result<void> again = WhenBack([&] { return Commit(*store, batch); });
    EXPECT_TRUE(again) << again.error().detail;
}

// Payloads are full of bytes that must be escaped, and the server takes only small packets.
TEST_F(MysqlFaultTest, ABatchOfTheLargestSizeFitsTheServersPackets) {
    Connection root = Root();
    root.Run("SET GLOBAL max_allowed_packet = 8388608");
    const auto store = Open();
    const std::size_t bytes_max = store->limits().bytes_max;
    EXPECT_LE(bytes_max, 4u << 20);
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    std::vector<Change> changes;
    std::size_t bytes = 0;
    std::size_t rows = 0;
    for (; rows < 1000; ++rows) {
        Execution row = make_.OneOff("e-" + std::to_string(rows));
        row.payload = Text(std::string(40'000, '\''));
        changes.push_back(InsertLive(row));
        bytes += SizeOf(changes.back());
        if (bytes > bytes_max) break;
    }
    changes.pop_back();
    ASSERT_GT(rows, 10u);

    const Result<void> done = Commit(*store, MakeBatch(*term, 1, changes));
    root.Run("SET GLOBAL max_allowed_packet = 16777216");

    ASSERT_TRUE(done) << done.error().detail;
    EXPECT_EQ(List(*store)->size(), rows);
    EXPECT_EQ(List(*store)->at(0).payload.size(), 40'000u);
}

// The largest row there may be, all of it bytes that must be escaped, at a server that takes the
// smallest packets that Takt accepts.
TEST_F(MysqlFaultTest, TheLargestRowFitsTheSmallestPackets) {
    Connection root = Root();
    root.Run("SET GLOBAL max_allowed_packet = 8388608");
    const auto store = Open();
    root.Run("SET GLOBAL max_allowed_packet = 16777216");
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    Execution row = make_.Fire("t-1", "e-1");
    NewTaskPtr task(new Task(*row.task));
    task->payload = Text(std::string(1 << 20, '\''));
    row.task = task;
    row.payload = Text(std::string(1 << 20, '\\'));
    boost::intrusive_ptr<Outcome> outcome(new Outcome);
    outcome->data = Text(std::string((1 << 20) + (64 << 10), '"'));
    row = conformance::Finished(row);
    row.outcome = outcome;

    const Result<void> done =
        Commit(*store, MakeBatch(*term, 1, {ExecutionChange{Place::kNone, Place::kHistory, row}}));

    ASSERT_TRUE(done) << done.error().detail;
    EXPECT_TRUE(conformance::Show(List(*store)->at(0)) == conformance::Show(row));
}

// A row larger than the scheduler lets through. The server would end the session for it, again and
// again; whoever wrote it must be told instead.
TEST_F(MysqlFaultTest, AChangeBeyondTheServersPacketsIsRefusedBeforeItIsSent) {
    const auto store = Open();
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    Execution row = make_.OneOff("e-1");
    row.payload = Text(std::string(16 << 20, 'x'));

    const Result<void> done = Commit(*store, MakeBatch(*term, 1, {InsertLive(row)}));

    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kInvalid) << done.error().detail;
    EXPECT_NE(done.error().detail.find("max_allowed_packet"), std::string::npos);
    EXPECT_TRUE(Commit(*store, MakeBatch(*term, 1, {SettingPut{"key", "value"}})));
}

// The disk of the server is so slow that a commit takes longer than the timeout. Sent again and
// again with the same time it would never be done.
TEST_F(MysqlFaultTest, ACommitSlowerThanTheTimeoutIsDoneInTheEnd) {
    const auto store = OpenWithTimeout(std::chrono::seconds(1));
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    database_.Root().Run(
        "CREATE TRIGGER slow BEFORE INSERT ON takt_settings FOR EACH ROW DO SLEEP(1.5)");

    const BatchPtr batch =
        MakeBatch(*term, 1, {SettingPut{"key", "value"}, InsertLive(make_.OneOff("e-1"))});
    Result<void> done = Commit(*store, batch);
    ASSERT_FALSE(done) << "the trigger does not slow it down";
    for (int i = 0; i < 20 && !done; ++i) {
        EXPECT_NE(done.error().code, ErrorCode::kInvalid) << done.error().detail;
        done = Commit(*store, batch);
    }

    EXPECT_TRUE(done) << done.error().detail;
    EXPECT_EQ(List(*store)->size(), 1u);
}

// A change that says where a row is, wrongly, is our own bug: nothing of its batch may be applied.
TEST_F(MysqlFaultTest, AChangeOfARowThatIsNotThereIsRefusedWhole) {
    const auto store = Open();
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    std::vector<Execution> rows;
    std::vector<Change> changes;
    for (int i = 0; i < 10; ++i) {
        rows.push_back(make_.OneOff("e-" + std::to_string(i)));
        if (i > 0) changes.push_back(InsertLive(rows.back()));
    }
    ASSERT_TRUE(Commit(*store, MakeBatch(*term, 1, changes)));
    for (const Place after : {Place::kLive, Place::kHistory}) {
        std::vector<Change> moves = {SettingPut{"key", "value"}};
        for (std::size_t i = 0; i < rows.size(); ++i) {
            Execution row = conformance::Scheduled(rows[i], "w-" + std::to_string(i));
            if (after == Place::kHistory) row = conformance::Finished(row);
            moves.push_back(ExecutionChange{Place::kLive, after, row});
        }

        const Result<void> done = Commit(*store, MakeBatch(*term, 2, moves));

        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, ErrorCode::kInvalid) << done.error().detail;
        EXPECT_EQ(List(*store)->size(), 9u);
        EXPECT_EQ(List(*store)->at(0).status, Status::kPending);
    }
    EXPECT_TRUE(Commit(*store, MakeBatch(*term, 2, {SettingPut{"key", "value"}})));
}

}  // namespace
}  // namespace takt::internal::mysql
