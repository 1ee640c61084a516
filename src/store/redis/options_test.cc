#include "store/redis/options.h"

#include <gtest/gtest.h>

#include "base/log.h"

namespace takt::internal::redis {
namespace {

// Somebody tries Takt with the Redis on their laptop.
TEST(RedisUrl, AHostAloneIsEnough) {
    const auto options = ParseRedisUrl("redis://10.0.0.5");
    ASSERT_TRUE(options) << options.error().detail;
    EXPECT_EQ(options->deployment, Deployment::kSingle);
    EXPECT_EQ(options->hosts, (std::vector<Endpoint>{{"10.0.0.5", 6379}}));
    EXPECT_EQ(options->prefix, "takt");
    EXPECT_FALSE(options->tls.enabled);
    EXPECT_EQ(Describe(*options), "redis 10.0.0.5:6379/0, prefix takt");
}

// An operator spells everything out.
TEST(RedisUrl, EveryPartIsRead) {
    const auto options = ParseRedisUrl(
        "rediss://ops:p%40ss%3Aword@[::1]:7000/"
        "3?prefix=prod&wait=2&wait_timeout=500ms&timeout=2s"
        "&connect_timeout=1&tls_ca=/etc/ca.pem&tls_cert=/c.pem&tls_key=/"
        "k.pem&events_max=9&publish=0&unsafe=1");
    ASSERT_TRUE(options) << options.error().detail;
    EXPECT_EQ(options->credentials.user, "ops");
    EXPECT_EQ(options->credentials.password, "p@ss:word");
    EXPECT_EQ(options->hosts, (std::vector<Endpoint>{{"::1", 7000}}));
    EXPECT_EQ(options->database, 3u);
    EXPECT_EQ(options->prefix, "prod");
    EXPECT_EQ(options->wait_replicas, 2u);
    EXPECT_EQ(options->wait_timeout, Duration(500));
    EXPECT_EQ(options->timeout, Duration(2000));
    EXPECT_EQ(options->connect_timeout, Duration(1000));
    EXPECT_TRUE(options->tls.enabled && options->tls.verify);
    EXPECT_EQ(options->tls.ca_file, "/etc/ca.pem");
    EXPECT_EQ(options->tls.cert_file, "/c.pem");
    EXPECT_EQ(options->tls.key_file, "/k.pem");
    EXPECT_EQ(options->events_max, 9u);
    EXPECT_FALSE(options->publish);
    EXPECT_TRUE(options->unsafe);
    EXPECT_EQ(Describe(*options), "redis [::1]:7000/3 with TLS, prefix prod");
}

// A URL from before there were namespaces of tasks: it still leads to the same keys.
TEST(RedisUrl, TheFormerSpellingOfThePrefixIsReadWithANotice) {
    const LogCapture log;
    const auto options = ParseRedisUrl("redis://a?namespace=prod");
    ASSERT_TRUE(options) << options.error().detail;
    EXPECT_EQ(options->prefix, "prod");
    ASSERT_EQ(log.lines().size(), 1u);
    EXPECT_NE(log.lines()[0].find("parameter=namespace now=prefix"), std::string::npos)
        << log.lines()[0];
}

// The same store behind Sentinel and in a cluster.
TEST(RedisUrl, SeveralHostsAreSentinelsOrACluster) {
    const auto sentinel =
        ParseRedisUrl("redis+sentinel://:pw@a,b:1/mymaster/2?sentinel_password=x");
    ASSERT_TRUE(sentinel) << sentinel.error().detail;
    EXPECT_EQ(sentinel->deployment, Deployment::kSentinel);
    EXPECT_EQ(sentinel->hosts, (std::vector<Endpoint>{{"a", 26379}, {"b", 1}}));
    EXPECT_EQ(sentinel->master, "mymaster");
    EXPECT_EQ(sentinel->database, 2u);
    EXPECT_EQ(sentinel->sentinel_credentials.password, "x");
    EXPECT_EQ(Describe(*sentinel), "redis mymaster by sentinel a:26379,b:1/2, prefix takt");

    EXPECT_EQ(ParseRedisUrl("redis://a:1,b:2")->deployment, Deployment::kCluster);
    EXPECT_EQ(ParseRedisUrl("redis://a:1?cluster=1")->deployment, Deployment::kCluster);
}

// Typing errors are found at the start, and no password ends up in a log for them.
TEST(RedisUrl, WhatCannotBeMeantIsRefusedWithoutItsPassword) {
    for (const char* url : {"",
                            "redis:",
                            "http://secret@a",
                            "redis://secret@a",
                            "redis://u:secret@a:x",
                            "redis://u:secret@a:0",
                            "redis://u:secret@a:70000",
                            "redis://u:secret@a/x",
                            "redis://u:secret@a/-1",
                            "redis://u:secret%zz@a",
                            "redis://u:secret@a?colour=red",
                            "redis://u:secret@a?wait=two",
                            "redis://u:secret@a?unsafe=yes",
                            "redis://u:secret@a?timeout=0s",
                            "redis://u:secret@a?prefix=",
                            "redis://a?prefix=x{y",
                            "redis://u:secret@a,b/1",
                            "rediss://u:secret@a?cert=/x",
                            "rediss://u:secret@a?tls=0",
                            "redis+sentinel://u:secret@a",
                            "redis://u:secret@[::1",
                            "redis://u:secret@[::1]x",
                            "redis://u:se/secret@a",
                            "redis://u:1/secret@a",
                            "redis://u:se?secret@a",
                            "redis://u:6379?secret=1@a",
                            "redis://:secret",
                            "redis://a:1?sentinel_password=se@secret",
                            "redis+sentinel://u:1/secret@a/mymaster",
                            "redis://a?wait=1&wait_timeout=9s",
                            "redis://a?events_max=0"}) {
        const auto options = ParseRedisUrl(url);
        ASSERT_FALSE(options) << url;
        EXPECT_EQ(options.error().code, ErrorCode::kInvalid) << url;
        EXPECT_EQ(options.error().field, "store") << url;
        EXPECT_EQ(options.error().detail.find("secret"), std::string::npos)
            << options.error().detail;
    }
    const auto odd = ParseRedisUrl("redis://u:sec@ret@host");
    ASSERT_TRUE(odd);
    EXPECT_EQ(odd->hosts.at(0).host, "host") << "an @ in the password belongs to the password";
}

}  // namespace
}  // namespace takt::internal::redis
