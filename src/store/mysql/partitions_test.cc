// Several namespaces in one database: tables of their own, and connections that do not wait for each
// other.
#include "store/mysql/schema.h"
#include "store/mysql/store_fixture.h"
#include "store/testing/read_turns.h"

namespace takt::internal::mysql {
namespace {

constexpr Partition kOther = 7;

class MysqlPartitionsTest : public MysqlStoreTest {
  protected:
    static Result<Term> AcquireIn(Store& store, Partition partition) {
        return TakeLead(store, {.node = {.node = NodeId("node-a"), .address = "http://node"},
                                .ttl = kLong,
                                .partition = partition});
    }
    std::int64_t CountTables(std::string_view pattern) {
        Rows rows = database_.Root().Query(
            fmt::format("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = "
                        "'{}' AND table_name LIKE '{}'",
                        database_.name(), pattern));
        return rows.Next() ? rows.Int(0) : -1;
    }
};

// A namespace costs nothing before it is used, and leaves nothing but its term when it is gone.
TEST_F(MysqlPartitionsTest, TablesAreMadeByTheFirstCommitAndGoneWithThePartition) {
    const auto store = Open();
    const Result<Term> term = AcquireIn(*store, kOther);
    ASSERT_TRUE(term) << term.error().detail;
    EXPECT_EQ(CountTables("takt\\_7\\_%"), 0);

    ASSERT_TRUE(Commit(*store, MakeBatch(*term, 1, {SettingPut{"a", "1"}})));
    EXPECT_EQ(CountTables("takt\\_7\\_%"), 12);

    ASSERT_TRUE(Await<void>(
        [&](Done<void> done) { store->DropPartition(kOther, term->epoch, std::move(done)); }));
    EXPECT_EQ(CountTables("takt\\_7\\_%"), 0);
    Rows rows = database_.Root().Query("SELECT COUNT(*) FROM takt_terms WHERE partition_id = 7");
    ASSERT_TRUE(rows.Next());
    EXPECT_EQ(rows.Int(0), 1);
}

// Somebody's session keeps rows of one namespace locked. The others commit meanwhile.
TEST_F(MysqlPartitionsTest, ALockWaitOfOnePartitionDelaysNoOther) {
    const auto store = Open();
    const Result<Term> term = AcquireIn(*store, kDefaultPartition);
    const Result<Term> other = AcquireIn(*store, kOther);
    ASSERT_TRUE(term && other);
    ASSERT_TRUE(Commit(*store, MakeBatch(*other, 1, {SettingPut{"a", "1"}})));
    Connection somebody = database_.Root();
    somebody.Run("START TRANSACTION;UPDATE takt_7_settings SET value = 'x'");
    auto waiting = BeginCommit(*store, MakeBatch(*other, 2, {SettingPut{"a", "2"}}));
    ASSERT_GT(WaitingSession(), 0);

    const Result<void> done = Commit(*store, MakeBatch(*term, 1, {SettingPut{"a", "1"}}));

    EXPECT_TRUE(done) << done.error().detail;
    EXPECT_EQ(waiting.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
    somebody.Run("ROLLBACK");
    const Result<void> late = waiting.get();
    EXPECT_TRUE(late) << late.error().detail;
}

// One team's programs ask for executions as fast as they can. Another's are not behind all of that.
TEST_F(MysqlPartitionsTest, PartitionsReadByTurns) {
    MysqlOptions options = database_.options();
    options.readers = 1;
    EXPECT_EQ(testing_support::OrderOfReads(*Open(options)), "21111111111");
}

// The tables as version 1 made them, with an execution that runs and one that is finished, are
// opened by this version; a scheduler that died in the middle of it had added some columns already.
TEST_F(MysqlPartitionsTest, TablesOfVersion1AreTakenOver) {
    const MysqlOptions options = database_.options();
    {
        Connection old(options);
        const auto steps = Migrations(options.prefix);
        for (const std::string& statement : steps[0]) old.Run(statement);
        old.Run(
            "CREATE TABLE takt_schema (only_row TINYINT NOT NULL PRIMARY KEY, version INT UNSIGNED "
            "NOT NULL);INSERT INTO takt_schema VALUES (1, 1);"
            "INSERT INTO takt_live (serial, id, task_id, task_name, type, queue, origin, status, "
            "worker, attempt) VALUES (4611686018427387905, 'e-1', 't-1', 'n', 'mail', 'default', "
            "'fire', 'running', 'w-1', 1);"
            "INSERT INTO takt_history (serial, id, task_name, type, queue, origin, status, "
            "finished_at_ms) VALUES (4611686018427387904, 'e-0', 'n', 'mail', 'default', 'once', "
            "'success', 1000);"
            "INSERT INTO takt_terms VALUES (0, 41, 7, 3, 4611686018427387905)");
        old.Run(steps[1][1]);
    }

    const auto store = Open();
    ASSERT_TRUE(store);
    const auto list = List(*store);
    ASSERT_TRUE(list) << list.error().detail;
    ASSERT_EQ(list->size(), 2u);
    EXPECT_EQ(list->at(0).id.view(), "e-1");
    EXPECT_EQ(list->at(0).status, Status::kRunning);
    EXPECT_TRUE(list->at(1).parent.empty());
    const Result<Term> term = AcquireIn(*store, kDefaultPartition);
    ASSERT_TRUE(term) << term.error().detail;
    EXPECT_EQ(term->epoch, 42u);
    const Execution child = make_.Child(list->at(0), "child");
    const auto done = Commit(
        *store, MakeBatch(*term, 1, {InsertLive(child), RecordPut{RecordKind::kRun, "e-1", "x"}}));
    EXPECT_TRUE(done) << done.error().detail;
}

}  // namespace
}  // namespace takt::internal::mysql
