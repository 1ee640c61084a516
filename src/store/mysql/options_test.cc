#include "store/mysql/options.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

// The URL of the README, and one with everything.
TEST(MysqlOptionsTest, AUrlSaysWhereAndHow) {
    const auto plain = ParseMysqlUrl("mysql://takt@db.example/takt");
    ASSERT_TRUE(plain) << plain.error().detail;
    EXPECT_EQ(plain->host, "db.example");
    EXPECT_EQ(plain->port, 3306);
    EXPECT_EQ(plain->user, "takt");
    EXPECT_EQ(plain->password, "");
    EXPECT_EQ(plain->database, "takt");
    EXPECT_EQ(plain->prefix, "takt_");
    EXPECT_FALSE(plain->tls.enabled);

    const auto full = ParseMysqlUrl(
        "mysql://u%40x:p%40ss%3Aword%2F%3F@[::1]:3307/my%20db?tls=1&tls_ca=/ca.pem&tls_cert=/c.pem&"
        "tls_key=/k.pem&prefix=a_&pool=7&timeout=2500ms&socket=/run/s");
    ASSERT_TRUE(full) << full.error().detail;
    EXPECT_EQ(full->user, "u@x");
    EXPECT_EQ(full->password, "p@ss:word/?");
    EXPECT_EQ(full->host, "::1");
    EXPECT_EQ(full->port, 3307);
    EXPECT_EQ(full->database, "my db");
    EXPECT_TRUE(full->tls.enabled && full->tls.verify);
    EXPECT_EQ(full->tls.ca_file, "/ca.pem");
    EXPECT_EQ(full->tls.cert_file, "/c.pem");
    EXPECT_EQ(full->tls.key_file, "/k.pem");
    EXPECT_EQ(full->prefix, "a_");
    EXPECT_EQ(full->readers, 7u);
    EXPECT_EQ(full->timeout, std::chrono::seconds(3));
    EXPECT_EQ(full->socket, "/run/s");
}

// A primary and two that may take its place.
TEST(MysqlOptionsTest, SeveralHosts) {
    const auto options = ParseMysqlUrl("mysql://takt@a:3307,b,[::1]:3309/db");
    ASSERT_TRUE(options) << options.error().detail;
    EXPECT_EQ(options->host, "a");
    ASSERT_EQ(options->others.size(), 2u);
    EXPECT_EQ(Show(options->others[0]), "b:3306");
    EXPECT_EQ(Show(options->others[1]), "[::1]:3309");
    EXPECT_EQ(Describe(*options), "mysql takt@a:3307,b:3306,[::1]:3309/db");
}

// Mistakes in a configuration file; and the file's errors end in logs and tickets.
TEST(MysqlOptionsTest, WhatIsWrongIsNamedWithoutThePassword) {
    for (const char* url : {"mysql:",
                            "mysql://",
                            "mysql://u:secret@h",
                            "mysql://u:secret@h/",
                            "mysql://u:secret@h/a/b",
                            "mysql://u:secret@h:0/d",
                            "mysql://u:secret@h:70000/d",
                            "mysql://u:secret@h:x/d",
                            "mysql://u:sec ret@h/d",
                            "mysql://u:secret@h,/d",
                            "mysql://u:secret@,h/d",
                            "mysql://u:secret@a,b,,c/d",
                            "mysql://u:secret@a,b/d?socket=/run/s",
                            "mysql://u:secret@a,b,c,d,e,f,g,h,i,j/d",
                            "mysql://u:secret@h/d?pool=0",
                            "mysql://u:secret@h/d?pool=999",
                            "mysql://u:secret@h/d?timeout=-1",
                            "mysql://u:secret@h/d?timeout=500ms",
                            "mysql://u:secret@h/d?prefix=a%60b",
                            "mysql://u:secret@h/d?tls=yes",
                            "mysql://u:secret@h/d?tls=1&cert=/x",
                            "mysql://u:secret@h/d?password=secret",
                            "mysql://u:1/secret@h",
                            "mysql://u:1/secret@h/d",
                            "mysql://u:se/secret@h/d",
                            "mysql://u:12?secret=1@h/d"}) {
        const auto options = ParseMysqlUrl(url);
        ASSERT_FALSE(options) << url;
        EXPECT_EQ(options.error().code, ErrorCode::kInvalid) << url;
        EXPECT_EQ(options.error().field, "store") << url;
        EXPECT_EQ(options.error().detail.find("sec"), std::string::npos) << options.error().detail;
    }
}

TEST(MysqlOptionsTest, TheDescriptionHasNoPassword) {
    EXPECT_EQ(Describe(*ParseMysqlUrl("mysql://takt:secret@h:3307/db")), "mysql takt@h:3307/db");
    EXPECT_EQ(Describe(*ParseMysqlUrl("mysql://takt:secret@h/db?socket=/run/s")),
              "mysql takt@/run/s/db");
}

}  // namespace
}  // namespace takt::internal
