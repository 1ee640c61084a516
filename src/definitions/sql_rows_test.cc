#include "definitions/sql_rows.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

TEST(SqlRowsTest, StringsAreReadAsMySqlWritesThem) {
    auto rows = ReadSqlRows(
        "CREATE TABLE IF NOT EXISTS db.`t` (a int, `b` varchar(3) DEFAULT 'x,y', KEY `k` (`b`));\n"
        "INSERT INTO t VALUES (1,'it''s \\\\ \\n \\0;'),\n(2,NULL),(-3.5,_binary 'z');\n");
    const auto& t = rows["t"].rows;
    ASSERT_EQ(t.size(), 3u);
    EXPECT_EQ(t[0].values.at("b"), std::string("it's \\ \n \0;", 11));
    EXPECT_FALSE(t[1].values.contains("b"));
    EXPECT_EQ(t[1].line, 3);
    EXPECT_EQ(t[2].values.at("a"), "-3.5");
    EXPECT_EQ(t[2].values.at("b"), "z");
    EXPECT_TRUE(rows["t"].mistakes.empty());
}

// XXL-JOB's own script fills its tables so, from version 3 on.
TEST(SqlRowsTest, ValuesMayBeCallsOfFunctions) {
    auto rows = ReadSqlRows(
        "create table t (`a` int, primary key (`a`), b datetime, c varchar(9));\n"
        "INSERT INTO t(a, b, c) VALUES (1, now(), 'x'), (2, date_format(now(), '%Y)'), 'y'),\n"
        "(3, CURRENT_TIMESTAMP(3), NULL);");
    const auto& t = rows["t"].rows;
    ASSERT_EQ(t.size(), 3u);
    EXPECT_EQ(t[0].values.at("b"), "now()");
    EXPECT_EQ(t[0].values.at("c"), "x");
    EXPECT_EQ(t[1].values.at("c"), "y");
    EXPECT_EQ(t[2].values.at("a"), "3");
    EXPECT_TRUE(rows["t"].mistakes.empty());
}

// A dump of a disk that was full: what is missing is told, not left out in silence.
TEST(SqlRowsTest, ADumpThatIsCutOffSaysSo) {
    for (const char* end : {"(2,'y", "(2,", "(2", "(", ""}) {
        auto rows = ReadSqlRows(std::string("CREATE TABLE t (a int, b text);\nINSERT INTO t VALUES "
                                            "(1,'x'),\n") +
                                end);
        EXPECT_EQ(rows["t"].rows.size(), 1u) << end;
        ASSERT_EQ(rows["t"].mistakes.size(), 1u) << end;
        EXPECT_EQ(rows["t"].mistakes[0].line, 3) << end;
    }
    for (const char* end :
         {"INSERT INTO t (a", "INSERT INTO t (a,", "INSERT INTO t (a, b)", "INSERT INTO t",
          "INSERT INTO t VAL", "INSERT INTO t VALUES", "INSERT INTO t VALUES (1,'x')",
          "INSERT INTO t VALUES (1,'x') -- end"}) {
        auto rows = ReadSqlRows(std::string("CREATE TABLE t (a int, b text);\n") + end);
        ASSERT_EQ(rows["t"].mistakes.size(), 1u) << end;
        EXPECT_EQ(rows["t"].mistakes[0].line, 2) << end;
    }
}

TEST(SqlRowsTest, WhatFollowsRowsInAStatementIsNoMistake) {
    auto rows = ReadSqlRows(
        "INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE a = 1;\n"
        "INSERT INTO t (a) VALUES (2) AS n;\n");
    EXPECT_EQ(rows["t"].rows.size(), 2u);
    EXPECT_TRUE(rows["t"].mistakes.empty());
}

}  // namespace
}  // namespace takt::internal
