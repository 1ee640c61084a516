#include "http/head_parser.h"

#include <gtest/gtest.h>

namespace takt::internal::http {
namespace {

// The status a head is refused with, 0 when it is accepted.
int Refusal(std::string_view head) {
    HeadScanner scanner;
    const std::size_t size = scanner.Find(head);
    if (size == HeadScanner::npos) return 400;
    EXPECT_EQ(size, head.size()) << head;
    HttpRequest request;
    RequestParser parser({}, request);
    return parser.ParseHead(head) ? 0 : parser.refusal();
}

// Heads that ordinary clients send.
TEST(RequestHead, ThatIsWellFormedIsAccepted) {
    EXPECT_EQ(Refusal("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 0);
    EXPECT_EQ(Refusal("GET / HTTP/1.0\r\n\r\n"), 0);
    EXPECT_EQ(Refusal("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n"), 0);
    EXPECT_EQ(Refusal("POST /a HTTP/1.1\r\nhost:a\r\ntransfer-encoding: Chunked\r\n\r\n"), 0);
    EXPECT_EQ(Refusal("GET http://a/b HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n"), 0);
}

// An attacker sends what a proxy in front of us may read differently.
TEST(RequestHead, ThatCouldBeReadInTwoWaysIsRefused) {
    struct Case {
        std::string_view lines;
        int status;
    };
    constexpr Case kCases[] = {
        {"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", 400},
        {"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", 400},
        {"Content-Length: 3\r\nContent-Length: 3\r\n", 400},
        {"Content-Length: 3\r\nContent-Length: 4\r\n", 400},
        {"Content-Length: 3, 3\r\n", 400},
        {"Content-Length: +3\r\n", 400},
        {"Content-Length: -3\r\n", 400},
        {"Content-Length: 0x3\r\n", 400},
        {"Content-Length: 3 3\r\n", 400},
        {"Content-Length: 99999999999999999999\r\n", 400},
        {"Content-Length : 3\r\n", 400},
        {"Transfer-Encoding: gzip, chunked\r\n", 501},
        {"Transfer-Encoding: identity\r\n", 501},
        {"Transfer-Encoding: xchunked\r\n", 501},
        {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
        {"Transfer-Encoding:\x0b"
         "chunked\r\n",
         400},
        {"X: a\r\n folded\r\n", 400},
        {"X: a\r\n\tfolded\r\n", 400},
        {"X: a\nContent-Length: 3\r\n", 400},
        {"X: a\rContent-Length: 3\r\n", 400},
        {": a\r\n", 400},
        {"X y: a\r\n", 400},
        {"no colon\r\n", 400},
        {"Host: b\r\n", 400},
    };
    for (const Case& test : kCases) {
        const std::string head =
            "POST / HTTP/1.1\r\nHost: a\r\n" + std::string(test.lines) + "\r\n";
        EXPECT_EQ(Refusal(head), test.status) << test.lines;
    }
    EXPECT_EQ(Refusal(std::string("GET / HTTP/1.1\r\nHost: a\r\nX: a") + '\0' + "b\r\n\r\n"), 400);
    EXPECT_EQ(Refusal("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

// A scanner, a TLS client on the plain port, a client of another protocol.
TEST(RequestHead, ThatIsMalformedIsRefused) {
    for (const std::string_view line :
         {"GET /", "GET", "GET  / HTTP/1.1", "GET / HTTP/1.1 ", " GET / HTTP/1.1", "/ HTTP/1.1",
          "GET / HTTP/11", "GET / http/1.1", "GET /a b HTTP/1.1", "GET / HTTP/1.1x", "\x16\x03\x01",
          "GET /\x01 HTTP/1.1"}) {
        EXPECT_EQ(Refusal(std::string(line) + "\r\nHost: a\r\n\r\n"), 400) << line;
    }
    EXPECT_EQ(Refusal("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
    EXPECT_EQ(Refusal("BREW / HTTP/1.1\r\nHost: a\r\n\r\n"), 501);
    EXPECT_EQ(Refusal("CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n"), 501);
    EXPECT_EQ(Refusal("GET / HTTP/1.1\r\n\r\n"), 400);
    EXPECT_EQ(Refusal("GET * HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
}

// A cloud of headers must not cost memory for each.
TEST(RequestHead, WithTooManyHeadersIsRefused) {
    std::string head = "GET / HTTP/1.1\r\nHost: a\r\n";
    for (int i = 0; i < 100; ++i) head += "X: y\r\n";
    EXPECT_EQ(Refusal(head + "\r\n"), 431);
}

// Bytes come one by one over a bad link; the end must be found all the same.
TEST(HeadScanner, FindsTheEndHoweverTheBytesArrive) {
    const std::string head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    HeadScanner scanner;
    for (std::size_t i = 1; i < head.size(); ++i) {
        EXPECT_EQ(scanner.Find(std::string_view(head).substr(0, i)), 0U) << i;
    }
    EXPECT_EQ(scanner.Find(head + "next"), head.size());
}

// A chunked body cut at every place gives the same text, and trailers do not become headers.
TEST(RequestBody, IsTheSameHoweverItIsCut) {
    const std::string body = "3\r\nabc\r\n5;x=y\r\ndefgh\r\n0\r\nHost: evil\r\n\r\n";
    for (std::size_t cut = 0; cut <= body.size(); ++cut) {
        HttpRequest request;
        std::string text;
        RequestParser parser({}, request);
        ASSERT_TRUE(
            parser.ParseHead("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"));
        parser.set_piece([&](std::string_view piece) {
            text += piece;
            return true;
        });
        std::string pending = body.substr(0, cut);
        pending.erase(0, parser.ParseBody(pending));
        pending += body.substr(cut);
        parser.ParseBody(pending);
        EXPECT_TRUE(parser.is_done()) << cut;
        EXPECT_EQ(text, "abcdefgh") << cut;
        EXPECT_EQ(request.headers.Find("Host"), "a");
    }
}

// A length that wraps around, a chunk without its line end: the rest would be another request.
TEST(RequestBody, WithBrokenChunksIsRefused) {
    for (const std::string_view body : {"ffffffffffffffffff\r\nabc", "-1\r\na", "3\r\nabcX\r\n",
                                        "g\r\n", "\r\n", "3 \r\nabc\n"}) {
        HttpRequest request;
        RequestParser parser({}, request);
        ASSERT_TRUE(
            parser.ParseHead("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"));
        parser.ParseBody(std::string(body) + "\r\n0\r\n\r\n");
        EXPECT_EQ(parser.refusal(), 400) << body;
    }
}

}  // namespace
}  // namespace takt::internal::http
