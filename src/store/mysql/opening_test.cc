// Opening: what an operator reads when something is not as it should be, encryption, and literals.
#include <future>

#include "base/log.h"
#include "store/mysql/schema.h"
#include "store/mysql/store_fixture.h"
#include "store/mysql/values.h"

namespace takt::internal::mysql {
namespace {

class MysqlOpeningTest : public MysqlStoreTest {
  protected:
    // The error of opening, which must name `words` and no password.
    static void Refused(const MysqlOptions& options, std::initializer_list<std::string_view> words,
                        ErrorCode code = ErrorCode::kInvalid) {
        const auto store = OpenMysql(options);
        ASSERT_FALSE(store);
        const std::string& detail = store.error().detail;
        EXPECT_EQ(store.error().code, code) << detail;
        for (const std::string_view word : words) {
            EXPECT_NE(detail.find(word), std::string::npos) << detail;
        }
        EXPECT_EQ(detail.find(MariadbServer::kPassword), std::string::npos) << detail;
    }

    // A user for the test, with the rights that `grants` lists.
    MysqlOptions MakeUser(const std::string& grants) {
        MysqlOptions options = database_.options();
        options.user = database_.name() + "_u";
        Root().Run(
            fmt::format("CREATE OR REPLACE USER {0}@'%' IDENTIFIED BY '{2}';"
                        "GRANT {1} ON {3}.* TO {0}@'%'",
                        options.user, grants, options.password, database_.name()));
        return options;
    }
};

// A typing error in the configuration.
TEST_F(MysqlOpeningTest, WhatTheOperatorMustCorrectIsNamed) {
    MysqlOptions options = database_.options();
    options.password = "wrong";
    Refused(options, {"password", "takt"});

    options = database_.options();
    options.database = "takt_test_absent";
    Refused(options, {"takt_test_absent", "CREATE DATABASE"});

    options = database_.options();
    options.port = FreePort();
    Refused(options, {"no connection", std::to_string(options.port)}, ErrorCode::kUnavailable);
}

// Databases are often made by other people, who grant too little.
TEST_F(MysqlOpeningTest, AMissingPrivilegeIsNamed) {
    Refused(MakeUser("SELECT, INSERT, UPDATE, DELETE"), {"CREATE", "GRANT"});
    ASSERT_TRUE(Open());  // Somebody else makes the tables.
    Refused(MakeUser("SELECT, INSERT, UPDATE"), {"DELETE", "GRANT"});
    Refused(MakeUser("SELECT"), {"INSERT", "GRANT"});
    Refused(MakeUser("SELECT, INSERT, DELETE"), {"UPDATE", "GRANT"});

    // To make tables is needed only to make them.
    EXPECT_TRUE(OpenMysql(MakeUser("SELECT, INSERT, UPDATE, DELETE")));
}

// A scheduler of the version before has just read the version, to be elected, on a server that locks no
// more than what is read.
TEST_F(MysqlOpeningTest, TablesDoNotChangeInTheMiddleOfAnElection) {
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
TEST_F(MysqlOpeningTest, AnUpgradeThatGivesUpLeavesNoMark) {
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

// What a server gives each session to protect people at a console.
TEST_F(MysqlOpeningTest, DefaultsForPeopleAreNotOurs) {
    Root().Run("SET GLOBAL init_connect = 'SET sql_safe_updates = 1, sql_select_limit = 3'");
    const auto store = OpenMysql(database_.options());
    using Many = std::vector<SettingPut>;
    Result<Many> settings;
    if (store) {
        const Result<Term> term = Acquire(**store, "node-a");
        EXPECT_TRUE(term);
        std::vector<Change> changes;
        for (const char* name : {"a", "b", "c", "d"}) changes.push_back(SettingPut{name, "1"});
        if (term) EXPECT_TRUE(Commit(**store, MakeBatch(*term, 1, changes)));
        settings = Await<Many>([&](Done<Many> done) {
            (*store)->ListSettings(kDefaultPartition, "", std::move(done));
        });
    }
    Root().Run("SET GLOBAL init_connect = ''");
    ASSERT_TRUE(store) << store.error().detail;
    ASSERT_TRUE(settings) << settings.error().detail;
    EXPECT_EQ(settings->size(), 4u);
}

// The user may make tables and not change them. What an upgrade cannot end it must not begin: the
// version before goes on.
TEST_F(MysqlOpeningTest, AnUpgradeWithoutPrivilegesLeavesTheVersionBeforeAtWork) {
    const auto before = Open();
    ASSERT_TRUE(before);
    auto steps = Migrations(database_.options().prefix);
    steps.push_back({"ALTER TABLE takt_terms ADD COLUMN later INT NOT NULL DEFAULT 0"});
    const MysqlOptions options = MakeUser("SELECT, INSERT, UPDATE, DELETE, CREATE");
    {
        Connection next(options);
        EXPECT_THROW(static_cast<void>(Migrate(next, options, steps)), MysqlError);
    }

    const Result<Term> term = Acquire(*before, "node-a");

    EXPECT_TRUE(term) << term.error().detail;
}

// Rights on each table, and on the newest one not all.
TEST_F(MysqlOpeningTest, AMissingPrivilegeOnOneTableIsNamed) {
    ASSERT_TRUE(Open());
    const MysqlOptions options = MakeUser("SELECT, INSERT, DELETE");
    Rows tables = database_.Root().Query("SHOW TABLES");
    while (tables.Next()) {
        if (tables.Bytes(0) == "takt_once_live") continue;
        Root().Run(fmt::format("GRANT UPDATE ON {}.{} TO {}@'%'", database_.name(), tables.Bytes(0),
                               options.user));
    }

    Refused(options, {"UPDATE", "takt_once_live"});
}

// An upgrade was taken back.
TEST_F(MysqlOpeningTest, TablesOfANewerVersionAreRefused) {
    ASSERT_TRUE(Open());
    database_.Root().Run("UPDATE takt_schema SET version = 99");

    Refused(database_.options(), {"newer", "99"});
}

// The next version adds a column; a server that died in the middle of it does it again.
TEST_F(MysqlOpeningTest, AStepThatStoppedHalfWayIsTakenAgain) {
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
TEST_F(MysqlOpeningTest, AnUpgradeThatStoppedAtAnyStatementIsFinished) {
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
        EXPECT_EQ(versions.Int(0), 3);
        EXPECT_EQ(versions.Int(1), 3);
        EXPECT_FALSE(old.Query("SELECT 1 FROM takt_7_once_live").Next());
        old.Run(
            "DROP TABLE takt_once_live, takt_7_once_live;"
            "ALTER TABLE takt_terms DROP COLUMN once_after");
    }
}

// A scheduler of the next version starts while one of this version leads, as in every rolling
// upgrade. What the leader writes must fit its tables to the end.
TEST_F(MysqlOpeningTest, TablesChangeOnlyWhenNobodyOfTheVersionBeforeIsThere) {
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

// Two installations share a database.
TEST_F(MysqlOpeningTest, PrefixesKeepInstallationsApart) {
    MysqlOptions other = database_.options();
    other.prefix = "other_";
    const auto first = Open();
    const auto second = Open(other);
    const Result<Term> a = Acquire(*first, "node-a");
    const Result<Term> b = Acquire(*second, "node-b");
    ASSERT_TRUE(a && b);
    ASSERT_TRUE(Commit(*first, MakeBatch(*a, 1, {InsertLive(make_.OneOff("e-1"))})));

    EXPECT_EQ(List(*first)->size(), 1u);
    EXPECT_EQ(List(*second)->size(), 0u);
}

// Schedulers and database are in different buildings.
TEST_F(MysqlOpeningTest, TlsIsUsedAndVerified) {
    Root().Run(
        fmt::format("CREATE OR REPLACE USER secure@'%' IDENTIFIED BY '{}' REQUIRE X509;"
                    "GRANT ALL ON {}.* TO secure@'%'",
                    MariadbServer::kPassword, database_.name()));
    MysqlOptions options = database_.options();
    options.tls.enabled = true;
    options.tls.ca_file = TestServer().ca();
    {
        Connection connection(options);
        Rows cipher = connection.Query("SHOW STATUS LIKE 'Ssl_cipher'");
        ASSERT_TRUE(cipher.Next());
        EXPECT_NE(cipher.Bytes(1), "");
    }
    EXPECT_TRUE(OpenMysql(options));

    options.user = "secure";
    Refused(options, {"password"});  // Which is how the server says that a certificate is missing.
    options.tls.cert_file = TestServer().client_cert();
    options.tls.key_file = TestServer().client_key();
    EXPECT_TRUE(OpenMysql(options));

    options.tls.ca_file = TestServer().foreign_ca();
    Refused(options, {"certificate"});
    options.tls.ca_file.clear();  // The system's authorities do not know it either.
    Refused(options, {"certificate"});
    options.tls.verify = false;
    EXPECT_TRUE(OpenMysql(options));
}

// The certificate is valid, but for another name than the one that was dialled.
TEST_F(MysqlOpeningTest, ACertificateOfAnotherNameIsRefused) {
    MysqlOptions options = database_.options();
    options.host = "localhost";
    options.tls.enabled = true;
    options.tls.ca_file = TestServer().ca();

    Refused(options, {"TLS"});
}

// Administrators often allow the socket only.
TEST_F(MysqlOpeningTest, AUnixSocketServesToo) {
    MysqlOptions options = database_.options();
    options.host = "host.invalid";
    options.socket = TestServer().socket();

    EXPECT_TRUE(OpenMysql(options));
}

// A server that was made fast at the price of its last second.
TEST_F(MysqlOpeningTest, SettingsThatLoseCommitsAreWarnedOf) {
    Connection root = Root();
    root.Run("SET GLOBAL innodb_flush_log_at_trx_commit = 2");
    std::string lines;
    {
        const LogCapture capture;
        EXPECT_TRUE(OpenMysql(database_.options()));
        for (const std::string& line : capture.lines()) lines += line;
    }
    root.Run("SET GLOBAL innodb_flush_log_at_trx_commit = 1");

    EXPECT_NE(lines.find("innodb_flush_log_at_trx_commit"), std::string::npos) << lines;
    EXPECT_EQ(lines.find(MariadbServer::kPassword), std::string::npos);
}

// Every byte that a user can choose, next to each other and in every place.
TEST_F(MysqlOpeningTest, LiteralsComeBackByteByByte) {
    Connection connection(database_.options());
    std::string all;
    for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
    for (const std::string& text :
         {all, std::string("';\"\\"), std::string("\\'"), std::string("\0", 1), std::string(),
          std::string("' OR 1=1 -- "), std::string("%_?"), std::string("\xF0\x9F\x98")}) {
        std::string sql = "SELECT CAST(";
        AppendText(sql, text);
        sql += " AS BINARY), ";
        AppendBinary(sql, text);
        Rows row = connection.Query(sql);
        ASSERT_TRUE(row.Next());
        EXPECT_EQ(row.Bytes(0), text);
        EXPECT_EQ(row.Bytes(1), text);
    }
}

}  // namespace
}  // namespace takt::internal::mysql
