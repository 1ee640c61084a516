// The URL that an operator writes.
#include "store/etcd/options.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

using Endpoints = std::vector<std::string>;

// The shortest URL: everything else has a default.
TEST(EtcdOptions, AHostIsEnough) {
    const Result<EtcdOptions> options = ParseEtcdUrl("etcd://localhost");
    ASSERT_TRUE(options) << options.error().detail;
    EXPECT_EQ(options->endpoints, (Endpoints{"localhost:2379"}));
    EXPECT_EQ(options->prefix, "/takt");
    EXPECT_FALSE(options->tls.enabled);
    EXPECT_TRUE(options->compact);
    EXPECT_EQ(options->timeout, Duration(5000));
}

// A real cluster with everything that can be said.
TEST(EtcdOptions, EveryPartIsRead) {
    const Result<EtcdOptions> options = ParseEtcdUrl(
        "etcd://us%40er:p%3Aw%2F1@h1:2379,10.0.0.2,[::1]:4000/team/takt/"
        "?tls_ca=%2Fetc%2Fca.pem&tls_cert=/c.pem&tls_key=/k.pem&timeout=1500ms&compact=0");
    ASSERT_TRUE(options) << options.error().detail;
    EXPECT_EQ(options->endpoints, (Endpoints{"h1:2379", "10.0.0.2:2379", "[::1]:4000"}));
    EXPECT_EQ(options->user, "us@er");
    EXPECT_EQ(options->password, "p:w/1");
    EXPECT_EQ(options->prefix, "/team/takt");
    EXPECT_TRUE(options->tls.enabled) << "files imply it";
    EXPECT_EQ(options->tls.ca_file, "/etc/ca.pem");
    EXPECT_EQ(options->tls.cert_file, "/c.pem");
    EXPECT_EQ(options->tls.key_file, "/k.pem");
    EXPECT_EQ(options->timeout, Duration(1500));
    EXPECT_FALSE(options->compact);
}

// All stores spell it alike; the path, which was the only way before, stays.
TEST(EtcdOptions, ThePrefixIsThePathOrAParameter) {
    for (const char* url :
         {"etcd://h/team/takt", "etcd://h?prefix=/team/takt/", "etcd://h?prefix=team%2Ftakt",
          "etcd://h/team/takt?prefix=/team/takt"}) {
        const Result<EtcdOptions> options = ParseEtcdUrl(url);
        ASSERT_TRUE(options) << options.error().detail;
        EXPECT_EQ(options->prefix, "/team/takt") << url;
    }
    EXPECT_EQ(ParseEtcdUrl("etcd://h/?prefix=/")->prefix, "/takt");
}

// Typing errors are told at the start, with the part at fault and without the password.
TEST(EtcdOptions, WhatIsWrongIsNamed) {
    const std::pair<const char*, const char*> cases[] = {
        {"etcd://", "host"},
        {"redis://h", "etcd://"},
        {"etcd", "scheme"},
        {"etcd://u:1/secret@h", "%2F"},
        {"etcd://u:pw?secret@h", "%3F"},
        {"etcd://u:se/cr@secret@h:2379/team", "%2F"},
        {"etcd://:secret", "host:port"},
        {"etcd://h:secret", "host:port"},
        {"etcd://h:0", "host:port"},
        {"etcd://h:70000", "host:port"},
        {"etcd://h:23x", "host:port"},
        {"etcd://a,,b", "host:port"},
        {"etcd://a b", "host"},
        {"etcd://h?color=red", "color"},
        {"etcd://h?tls=yes", "tls"},
        {"etcd://h?timeout=1h", "timeout"},
        {"etcd://h?timeout=0s", "timeout"},
        {"etcd://h?cert=/c.pem", "tls_cert and tls_key"},
        {"etcd://h?ca=%zz", "ca"},
        {"etcd://h/%2", "prefix"},
        {"etcd://h/a?prefix=b", "two prefixes"},
        {"etcd://:secret@h", "user"},
        {"etcd://u:%secret@h", "user"},
    };
    for (const auto& [url, words] : cases) {
        const Result<EtcdOptions> options = ParseEtcdUrl(url);
        ASSERT_FALSE(options) << url;
        EXPECT_EQ(options.error().code, ErrorCode::kInvalid) << url;
        EXPECT_NE(options.error().detail.find(words), std::string::npos) << options.error().detail;
        EXPECT_EQ(options.error().detail.find("secret"), std::string::npos);
    }
}

}  // namespace
}  // namespace takt::internal
