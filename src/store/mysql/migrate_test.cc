// Upgrades: tables of a version before, schedulers of it that are still there, and steps that stop half
// way.
#include <future>

#include "store/mysql/schema.h"
#include "store/mysql/store_fixture.h"

namespace takt::internal::mysql {
namespace {

using MysqlMigrateTest = MysqlStoreTest;

// A scheduler of the version before has just read the version, to be elected, on a server that locks no
// more than what is read.
TEST_F(MysqlMigrateTest, TablesDoNotChangeInTheMiddleOfAnElection) {
    ASSERT_TRUE(Open());
    const MysqlOptions options = database_.options();
    auto steps = Migrations(options.prefix);
    steps.push_back({"CREATE TABLE IF NOT EXISTS takt_new (n INT)"});
    Connection election(options);
    election.Run(
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;START TRANSACTION;"
        "SELECT MIN(version), MAX(version) FROM takt_schema LOCK IN SHARE MODE");
    auto migrating = std::async(std::launch::async, [&] {
        Connection next(options);
        return Migrate(next, options, steps);
    });
    ASSERT_GT(WaitingSession(), 0);
    const bool changed = election.Query("SHOW TABLES LIKE 'takt\\_new'").Next();
    // It leads.
    election.Run(
        "INSERT INTO takt_schedulers (node, address, version, started_at_ms, namespaces, ttl_ms, "
        "locked, expires) VALUES ('old', '', '', 0, '', 1, 0, UTC_TIMESTAMP(3) + INTERVAL 1 HOUR);"
        "COMMIT");

    const Result<void> done = migrating.get();

    EXPECT_FALSE(changed);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kUnavailable) << done.error().detail;
}

// The one that is being elected is frozen in the middle of it: nothing has changed, and others may be
// elected.
TEST_F(MysqlMigrateTest, AnUpgradeThatGivesUpLeavesNoMark) {
    const auto before = Open();
    MysqlOptions options = database_.options();
    options.timeout = std::chrono::seconds(2);
    auto steps = Migrations(options.prefix);
    steps.push_back({"CREATE TABLE IF NOT EXISTS takt_new (n INT)"});
    Connection election(options);
    election.Run(
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;START TRANSACTION;"
        "SELECT MIN(version), MAX(version) FROM takt_schema LOCK IN SHARE MODE");
    {
        Connection next(options);
        EXPECT_THROW(static_cast<void>(Migrate(next, options, steps)), MysqlError);
    }

    const Result<Term> term = Acquire(*before, "node-a");

    EXPECT_TRUE(term) << term.error().detail;
}

// The next version adds a column; a server that died in the middle of it does it again.
TEST_F(MysqlMigrateTest, AStepThatStoppedHalfWayIsTakenAgain) {
    const MysqlOptions options = database_.options();
    ASSERT_TRUE(Open());
    auto steps = Migrations(options.prefix);
    steps.push_back({"CREATE TABLE IF NOT EXISTS takt_new (n INT)", "not a statement"});
    {
        Connection dying(options);
        EXPECT_THROW(static_cast<void>(Migrate(dying, options, steps)), MysqlError);
    }
    steps.back().back() = "INSERT INTO takt_new VALUES (1)";

    Connection again(options);
    const Result<void> done = Migrate(again, options, steps);

    ASSERT_TRUE(done) << done.error().detail;
    Rows version = again.Query("SELECT version FROM takt_schema");
    ASSERT_TRUE(version.Next());
    EXPECT_EQ(version.Int(0), static_cast<std::int64_t>(steps.size()));
}

// The scheduler that brings the tables of version 2 to this one dies at each of the statements in
// turn. The next one finishes it: each namespace knows up to where its executions are in the old table,
// and no term goes on.
TEST_F(MysqlMigrateTest, AnUpgradeThatStoppedAtAnyStatementIsFinished) {
    const MysqlOptions options = database_.options();
    const auto all = Migrations(options.prefix);
    Connection old(options);
    for (const auto& step : {all[0], all[1]}) {
        for (const std::string& statement : step) old.Run(statement);
    }
    old.Run(
        "CREATE TABLE takt_schema (only_row TINYINT NOT NULL PRIMARY KEY, version INT UNSIGNED NOT "
        "NULL);CREATE TABLE takt_7_live LIKE takt_live;"
        "INSERT INTO takt_7_live (serial, id, task_name, type, queue, origin, status) VALUES "
        "(70, 'seven', 'n', 'mail', 'default', 'once', 'pending')");
    for (std::size_t done = 0; done <= all[2].size(); ++done) {
        SCOPED_TRACE(done);
        old.Run(
            "REPLACE INTO takt_schema VALUES (1, 2);DELETE FROM takt_terms;"
            "INSERT INTO takt_terms (partition_id, epoch, nonce, sequence, last_serial) VALUES "
            "(0, 41, 7, 3, 50), (7, 2, 9, 1, 60)");
        auto steps = all;
        steps[2].resize(done);
        steps[2].push_back("not a statement");
        {
            Connection dying(options);
            EXPECT_THROW(static_cast<void>(Migrate(dying, options, steps)), MysqlError);
        }
        EXPECT_TRUE(old.Query("SELECT 1 FROM takt_schema WHERE only_row = 2").Next())
            << "no older version is elected from now on";

        Connection next(options);
        const Result<void> finished = Migrate(next, options, all);

        ASSERT_TRUE(finished) << finished.error().detail;
        Rows terms = old.Query("SELECT once_after, nonce FROM takt_terms ORDER BY partition_id");
        for (const std::uint64_t after : {50, 70}) {
            ASSERT_TRUE(terms.Next());
            EXPECT_EQ(terms.Unsigned(0), after);
            EXPECT_EQ(terms.Unsigned(1), 0u);
        }
        Rows versions = old.Query("SELECT MIN(version), MAX(version) FROM takt_schema");
        ASSERT_TRUE(versions.Next());
        EXPECT_EQ(versions.Int(0), static_cast<std::int64_t>(all.size()));
        EXPECT_EQ(versions.Int(1), static_cast<std::int64_t>(all.size()));
        EXPECT_FALSE(old.Query("SELECT 1 FROM takt_7_once_live").Next());
        old.Run(
            "DROP TABLE takt_once_live, takt_7_once_live;"
            "ALTER TABLE takt_terms DROP COLUMN once_after");
    }
}

// Finished executions of two namespaces, from before there was an index by task and status, and a
// scheduler that dies at each of the statements in turn.
TEST_F(MysqlMigrateTest, TablesOfVersion3GetTheirIndexWhereverAnUpgradeStopped) {
    const MysqlOptions options = database_.options();
    const auto all = Migrations(options.prefix);
    Connection old(options);
    ASSERT_TRUE(Migrate(old, options, std::span(all).first(3)));
    old.Run(PartitionSql(options.prefix, 7));
    old.Run(
        "ALTER TABLE takt_7_history ADD KEY history_task (task_id), DROP KEY history_task_status;"
        "ALTER TABLE takt_7_child_history ADD KEY child_history_task (task_id), DROP KEY "
        "child_history_task_status;"
        "INSERT INTO takt_7_history (serial, id, task_id, task_name, type, queue, origin, status) "
        "VALUES (70, 'seven', 't-1', 'n', 'mail', 'default', 'fire', 'failed');"
        "INSERT INTO takt_terms (partition_id, epoch, nonce, sequence, last_serial) VALUES "
        "(7, 2, 9, 1, 60)");
    for (std::size_t done = 0; done <= all[3].size(); ++done) {
        auto steps = all;
        steps[3].resize(done);
        steps[3].push_back("not a statement");
        Connection dying(options);
        EXPECT_THROW(static_cast<void>(Migrate(dying, options, steps)), MysqlError);
    }
    Connection next(options);
    const Result<void> finished = Migrate(next, options, all);

    ASSERT_TRUE(finished) << finished.error().detail;
    for (const char* table :
         {"takt_history", "takt_child_history", "takt_7_history", "takt_7_child_history"}) {
        Rows keys = old.Query(fmt::format(
            "SELECT GROUP_CONCAT(column_name ORDER BY seq_in_index) FROM "
            "information_schema.statistics WHERE table_schema = DATABASE() AND table_name = '{}' "
            "AND index_name LIKE '%_task%'",
            table));
        ASSERT_TRUE(keys.Next());
        EXPECT_EQ(keys.Bytes(0), "task_id,status") << table;
    }
    EXPECT_FALSE(old.Query("SELECT 1 FROM takt_terms WHERE nonce <> 0").Next());
    const auto store = Open();
    ASSERT_TRUE(store);
    const auto list =
        List(*store, {.partition = 7, .task = TaskId("t-1"), .statuses = {Status::kFailed}});
    ASSERT_TRUE(list) << list.error().detail;
    EXPECT_EQ(list->size(), 1u);
}

// An index over ten million rows takes the server a minute, and no call may take as long otherwise.
TEST_F(MysqlMigrateTest, AStepThatTakesLongerThanACallMayIsWaitedFor) {
    MysqlOptions options = database_.options();
    options.timeout = std::chrono::seconds(1);
    auto steps = Migrations(options.prefix);
    steps.push_back({"DO SLEEP(2)"});
    Connection connection(options);

    const Result<void> done = Migrate(connection, options, steps);

    EXPECT_TRUE(done) << done.error().detail;
}

// A scheduler of the next version starts while one of this version leads, as in every rolling
// upgrade. What the leader writes must fit its tables to the end.
TEST_F(MysqlMigrateTest, TablesChangeOnlyWhenNobodyOfTheVersionBeforeIsThere) {
    const MysqlOptions options = database_.options();
    const auto before = Open();
    const Result<Term> term = Acquire(*before, "node-a");
    ASSERT_TRUE(term);
    CommitOneOff(*before, *term, "e-1");
    auto steps = Migrations(options.prefix);
    steps.push_back(
        {"ALTER TABLE takt_live ADD COLUMN IF NOT EXISTS shard INT NOT NULL DEFAULT 7"});
    Connection next(options);

    const Result<void> waiting = Migrate(next, options, steps);

    ASSERT_FALSE(waiting);
    EXPECT_EQ(waiting.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(waiting.error().detail.find("node-a"), std::string::npos) << waiting.error().detail;
    EXPECT_TRUE(Announce(*before, "node-a"));
    EXPECT_TRUE(Commit(*before, MakeBatch(*term, 2, {SettingPut{"a", "1"}})));
    ASSERT_TRUE(Await<void>([&](Done<void> done) { before->Resign(*term, {}, std::move(done)); }));
    EXPECT_FALSE(Migrate(next, options, steps)) << "it is there, and may lead any moment";
    EXPECT_TRUE(Acquire(*before, "node-a")) << "until the migration begins it may lead again";
    ASSERT_TRUE(Announce(*before, "node-a", Duration(0)));

    const Result<void> migrated = Migrate(next, options, steps);

    ASSERT_TRUE(migrated) << migrated.error().detail;
    Rows row = next.Query("SELECT id, shard FROM takt_live");
    ASSERT_TRUE(row.Next()) << "what the version before wrote is there";
    EXPECT_EQ(row.Bytes(0), "e-1");
    EXPECT_EQ(row.Int(1), 7);
    const Result<Term> late = Acquire(*before, "node-a");
    ASSERT_FALSE(late) << "the version before does not lead any more";
    EXPECT_EQ(late.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(late.error().detail.find(fmt::format("schema {}", steps.size())), std::string::npos)
        << late.error().detail;
}

}  // namespace
}  // namespace takt::internal::mysql
