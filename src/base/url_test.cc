#include "base/url.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

// The parts as an operator means them.
TEST(Url, IsCutIntoItsParts) {
    const auto parts = SplitUrl("redis+sentinel://me:p%2Fw@a:1,b:2/primary/3?x=1&y=/z");
    ASSERT_TRUE(parts) << parts.error().detail;
    EXPECT_EQ(parts->scheme, "redis+sentinel");
    EXPECT_EQ(parts->credentials, "me:p%2Fw");
    EXPECT_EQ(parts->hosts, "a:1,b:2");
    EXPECT_EQ(parts->path, "primary/3");
    EXPECT_EQ(parts->query, "x=1&y=/z");

    const auto least = SplitUrl("etcd://h");
    ASSERT_TRUE(least);
    EXPECT_FALSE(least->credentials);
    EXPECT_EQ(least->hosts, "h");
    EXPECT_EQ(SplitUrl("a://u:p@q@h")->credentials, "u:p@q") << "an @ of the password";
}

// A generated password has every character there is, and nobody encoded it.
TEST(Url, APasswordThatNobodyEncodedIsRefusedWithoutAWordOfIt) {
    for (const char* url :
         {"redis://u:se/cret@h", "redis://u:1/secret@h/0", "redis://u:se?cret@h",
          "redis://h:1?sentinel_password=sec@ret", "etcd://h/secret@x", "no scheme secret"}) {
        const auto parts = SplitUrl(url);
        ASSERT_FALSE(parts) << url;
        for (const char* piece : {"secret", "cret", "se/", "ret"}) {
            EXPECT_EQ(parts.error().detail.find(piece), std::string::npos) << url;
        }
    }
}

TEST(Url, HostsAndPortsAreReadInAllTheirForms) {
    const auto shown = [](std::string_view text) {
        const auto place = ParseHostPort(text, 99);
        return place ? Show(*place) : "none";
    };
    EXPECT_EQ(shown("h"), "h:99");
    EXPECT_EQ(shown("10.0.0.5:1"), "10.0.0.5:1");
    EXPECT_EQ(shown("[::1]"), "[::1]:99");
    EXPECT_EQ(shown("[::1]:4000"), "[::1]:4000");
    EXPECT_EQ(shown(""), ":99");
    for (const char* text : {"h:0", "h:70000", "h:", "h:x", "[::1", "[::1]x", "a b", "h:1:2"}) {
        EXPECT_EQ(shown(text), "none") << text;
    }
    EXPECT_EQ(UnescapeUrl("a%2Fb%zz"), std::nullopt);
    EXPECT_EQ(UnescapeUrl("a%2Fb"), "a/b");
    EXPECT_EQ(UnescapeUrl("%2"), std::nullopt);
}

// An operator registers executors by URL.
TEST(Url, ThatWeCallIsTakenApart) {
    const Url url = ParseUrl("https://Example.COM:8443/run?x=1").value();
    EXPECT_TRUE(url.tls);
    EXPECT_EQ(url.host, "example.com");
    EXPECT_EQ(url.port, 8443);
    EXPECT_EQ(url.target, "/run?x=1");
    EXPECT_EQ(url.Origin(), "https://example.com:8443");
    EXPECT_EQ(ParseUrl("http://[::1]/")->Authority(), "[::1]");
    EXPECT_EQ(ParseUrl("http://a?q")->target, "/?q");
    EXPECT_EQ(ParseUrl("ws://a")->port, 80);
}

// An attacker registers an executor whose URL means something else than it seems to.
TEST(Url, ThatHidesItsMeaningIsRefused) {
    for (const std::string_view text : {"",
                                        "a",
                                        "ftp://a/",
                                        "file:///etc/passwd",
                                        "http://",
                                        "http:///a",
                                        "http://user@a/",
                                        "http://a:pass@b/",
                                        "http://a:0/",
                                        "http://a:99999/",
                                        "http://a:8x/",
                                        "http://[::1",
                                        "http://[a]/",
                                        "http://a b/",
                                        "http://a/\r\nX: y",
                                        "http://a\\b/",
                                        "http://0x7f.1/",
                                        "http://2130706433/",
                                        "http://127.1/",
                                        "http://a/#f",
                                        "http://[127.0.0.1]/"}) {
        EXPECT_FALSE(ParseUrl(text)) << text;
    }
}

}  // namespace
}  // namespace takt::internal
