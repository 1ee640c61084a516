#include "http/message.h"

#include <gtest/gtest.h>

#include "http/address.h"
#include "http/gunzip_testing.h"
#include "http/gzip.h"

namespace takt::internal {
namespace {

HttpRequest Parsed(std::string_view target, HttpMethod method = HttpMethod::kGet) {
    HttpRequest request;
    request.method = method;
    const auto parsed = ParseTarget(target, request);
    EXPECT_TRUE(parsed) << target;
    return request;
}

// Somebody lists executions of a task whose name has a space and a slash.
TEST(Target, IsSplitAndDecodedOnce) {
    const HttpRequest request = Parsed("/api/a%20b%2Fc?name=x+y%26z&flag&name=second&%2525=1");
    EXPECT_EQ(request.path, "/api/a b/c");
    EXPECT_EQ(request.raw_path, "/api/a%20b%2Fc");
    EXPECT_EQ(request.Query("name"), "x y&z");
    EXPECT_EQ(request.Query("flag"), "");
    EXPECT_EQ(request.Query("%25"), "1");
    EXPECT_EQ(request.Query("none"), std::nullopt);
    EXPECT_EQ(request.QueryAll().size(), 4U);
}

// A proxy sends the whole URL, a monitor asks OPTIONS *.
TEST(Target, MayBeAbsoluteOrAsterisk) {
    EXPECT_EQ(Parsed("http://other:81/a?b=c").path, "/a");
    EXPECT_EQ(Parsed("HTTPS://other").path, "/");
    EXPECT_EQ(Parsed("http://other?q=1").Query("q"), "1");
    EXPECT_EQ(Parsed("*", HttpMethod::kOptions).path, "*");
}

// A scanner tries its list of tricks.
TEST(Target, ThatIsOddIsRefused) {
    for (const std::string_view target :
         {"", "*", "a", "host:80", "ftp://x/", "http:///a", "/%", "/%4", "/%zz", "/a%00b", "/%0a",
          "/../etc/passwd", "/a/..", "/a/%2e%2e/b", "/a%2f..%2fb", "/./a", "/a#b", "/a?x=%G0",
          "/a?x=%00"}) {
        HttpRequest request;
        EXPECT_FALSE(ParseTarget(target, request)) << target;
    }
}

// An Accept-Encoding header as browsers, curl and careful clients send it.
TEST(Headers, AreListsOfTokens) {
    EXPECT_TRUE(ListHasToken("Keep-Alive, Upgrade", "upgrade"));
    EXPECT_FALSE(ListHasToken("upgraded", "upgrade"));
    EXPECT_TRUE(AcceptsGzip("deflate, gzip;q=0.5"));
    EXPECT_TRUE(AcceptsGzip("*"));
    EXPECT_FALSE(AcceptsGzip("gzip;q=0"));
    EXPECT_FALSE(AcceptsGzip("br"));
    EXPECT_FALSE(IsHttpHeaderValue("a\r\nSet-Cookie: b"));
    EXPECT_FALSE(IsHttpHeaderName("a:b"));
}

// A large list goes over the wire packed and must come out the same.
TEST(Gzip, UnpacksToWhatWasPacked) {
    GzipWriter writer;
    for (const std::size_t size : {0UL, 1UL, 5'000UL, 1'000'000UL}) {
        std::string text;
        while (text.size() < size) text += "{\"id\":" + std::to_string(text.size()) + "}";
        const std::string packed = writer.Compress(text);
        EXPECT_EQ(Gunzip(packed), text);
    }
}

// The allow-list decides by what an address reaches, however it is spelled.
TEST(Addresses, AreSortedByReach) {
    const auto reach = [](std::string_view text) { return ReachOf(ParseIpAddress(text).value()); };
    EXPECT_EQ(reach("127.8.9.1"), AddressReach::kLoopback);
    EXPECT_EQ(reach("::1"), AddressReach::kLoopback);
    EXPECT_EQ(reach("::ffff:127.0.0.1"), AddressReach::kLoopback);
    EXPECT_EQ(reach("169.254.169.254"), AddressReach::kLinkLocal);
    EXPECT_EQ(reach("172.31.255.255"), AddressReach::kPrivate);
    EXPECT_EQ(reach("172.32.0.1"), AddressReach::kPublic);
    EXPECT_EQ(reach("100.64.0.1"), AddressReach::kPrivate);
    EXPECT_EQ(reach("fd00::1"), AddressReach::kPrivate);
    EXPECT_EQ(reach("0.0.0.0"), AddressReach::kSpecial);
    EXPECT_EQ(reach("64:ff9b::7f00:1"), AddressReach::kSpecial);
    EXPECT_EQ(reach("8.8.8.8"), AddressReach::kPublic);
    EXPECT_EQ(reach("2606:4700::1111"), AddressReach::kPublic);
    EXPECT_FALSE(ParseIpAddress("127.1"));
}

}  // namespace
}  // namespace takt::internal
