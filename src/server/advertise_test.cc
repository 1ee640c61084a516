#include "server/advertise.h"

#include <gtest/gtest.h>

#include "server/server.h"

namespace takt::internal {
namespace {

OwnNames Names(std::string v4, std::string v6, std::string name) {
    return {.address = [=](bool ipv6) { return ipv6 ? v6 : v4; }, .name = [=] { return name; }};
}

const OwnNames kNone = Names("", "", "");

// The configuration says it, or the port is bound to one address: nothing is guessed.
TEST(Advertise, WhatIsKnownIsTold) {
    EXPECT_EQ(AdvertisedUrl({.advertise = "https://takt.example", .listen = {"0.0.0.0", 80}}, kNone)
                  .value(),
              "https://takt.example");
    EXPECT_EQ(AdvertisedUrl({.listen = {"10.1.2.3", 80}}, kNone).value(), "http://10.1.2.3:80");
    EXPECT_EQ(AdvertisedUrl({.listen = {"::1", 80}}, kNone).value(), "http://[::1]:80");
    EXPECT_EQ(AdvertisedUrl({.listen = {"takt-1", 80}, .tls = true}, kNone).value(),
              "https://takt-1:80");
}

// `--listen 0.0.0.0:8080` on each of three machines. A worker that is told to call 0.0.0.0 would
// call itself.
TEST(Advertise, EveryAddressIsNoneThatOthersCanCall) {
    const OwnNames own = Names("10.1.2.3", "fd00::3", "takt-1");
    EXPECT_EQ(AdvertisedUrl({.listen = {"0.0.0.0", 80}, .shared = true}, own).value(),
              "http://10.1.2.3:80");
    EXPECT_EQ(AdvertisedUrl({.listen = {"::", 80}, .shared = true}, own).value(),
              "http://[fd00::3]:80");
    EXPECT_EQ(AdvertisedUrl({.listen = {"0.0.0.0", 80}, .tls = true}, own).value(),
              "https://takt-1:80")
        << "which is what a certificate is for";
    EXPECT_EQ(AdvertisedUrl({.listen = {"0.0.0.0", 80}}, Names("", "", "takt-1")).value(),
              "http://takt-1:80");
    EXPECT_EQ(AdvertisedUrl({.listen = {"::", 80}}, Names("10.1.2.3", "", "")).value(),
              "http://10.1.2.3:80");
}

// A machine without a network. Alone it can still serve itself; in a cluster it would mislead.
TEST(Advertise, ClusterNeedsAnAddressThatOthersCanCall) {
    EXPECT_EQ(AdvertisedUrl({.listen = {"0.0.0.0", 80}}, kNone).value(), "http://127.0.0.1:80");
    const auto refused = AdvertisedUrl({.listen = {"0.0.0.0", 80}, .shared = true}, kNone);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().field, "server.advertise");
    EXPECT_NE(refused.error().detail.find("--advertise"), std::string::npos);
}

// The whole server, on whatever machine this runs.
TEST(Advertise, ServerOnEveryAddressTellsARealOne) {
    Config config;
    config.store.url = "memory:";
    config.server.listen = "0.0.0.0:0";
    config.server.insecure = true;
    const auto server = Server::Start(config);
    ASSERT_TRUE(server) << server.error().detail;
    EXPECT_EQ((*server)->address().find("0.0.0.0"), std::string::npos) << (*server)->address();
    EXPECT_EQ((*server)->address().find(":0"), std::string::npos) << (*server)->address();
}

TEST(Advertise, TextThatIsNoAddressIsRefused) {
    for (const char* text : {"nonsense", "ftp://x", "http://", "http://x:99999", "http://a b"}) {
        const auto told = AdvertisedUrl({.advertise = text}, SystemNames());
        ASSERT_FALSE(told) << text;
        EXPECT_EQ(told.error().field, "server.advertise");
    }
    EXPECT_EQ(*AdvertisedUrl({.advertise = "https://takt.example.com"}, SystemNames()),
              "https://takt.example.com");
}

// The schedulers' certificates are of the company's own authority, and its file is misspelt.
TEST(Advertise, AuthorityThatCannotBeReadIsToldAtTheStart) {
    Config config;
    config.store.url = "memory:";
    config.server.listen = "127.0.0.1:0";
    config.server.tls_ca = "/nowhere/ca.pem";
    const auto server = Server::Start(config);
    ASSERT_FALSE(server);
    EXPECT_EQ(server.error().field, "server.tls_ca");
    EXPECT_NE(server.error().detail.find("/nowhere/ca.pem"), std::string::npos);
}

}  // namespace
}  // namespace takt::internal
