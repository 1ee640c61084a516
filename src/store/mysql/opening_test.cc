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
