#include "http/websocket.h"

#include "http/client.h"
#include "http/test_support.h"
#include "http/websocket_frame.h"

namespace takt::internal::http {
namespace {

constexpr std::string_view kHandshake =
    "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

// The example of RFC 6455.
TEST(WebSocketFrame, AcceptIsComputedAsTheRfcSays) {
    EXPECT_EQ(WebSocketAccept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    EXPECT_EQ(NewWebSocketKey().size(), 24U);
}

std::string ClientFrame(int first_byte, std::string payload) {
    const MaskKey mask = {1, 2, 3, 4};
    std::string frame = FrameHeader(FrameKind::kText, payload.size(), mask);
    frame[0] = static_cast<char>(first_byte);
    ApplyMask(payload.data(), payload.size(), mask);
    return frame + payload;
}

// A message in fragments, with a ping between them, one byte at a time.
TEST(WebSocketFrame, FragmentsAreJoinedHoweverTheyArrive) {
    const std::string bytes = ClientFrame(0x01, "Hel") + ClientFrame(0x89, "p") +
                              ClientFrame(0x80, "lo") + ClientFrame(0x82, "");
    FrameReader reader(true, 100);
    std::string seen;
    for (const char byte : bytes) {
        reader.Append({&byte, 1});
        while (const auto frame = reader.Next()) {
            seen +=
                std::to_string(static_cast<int>(frame->kind)) + std::string(frame->payload) + ";";
        }
    }
    EXPECT_EQ(seen, "9p;1Hello;2;");
    EXPECT_FALSE(reader.error());
}

// A peer that breaks a rule is told which.
TEST(WebSocketFrame, BrokenRulesAreNamed) {
    const auto error = [](const std::string& bytes) {
        FrameReader reader(true, 100);
        reader.Append(bytes);
        while (reader.Next()) {
        }
        return reader.error();
    };
    using enum WebSocketCode;
    EXPECT_EQ(error(ClientFrame(0x81, std::string(101, 'a'))), kTooLarge);
    EXPECT_EQ(
        error(ClientFrame(0x01, std::string(60, 'a')) + ClientFrame(0x80, std::string(60, 'a'))),
        kTooLarge);
    EXPECT_EQ(error(ClientFrame(0x81, "\xff")), kBadText);
    EXPECT_EQ(error(ClientFrame(0x80, "a")), kProtocolError);  // Nothing to continue.
    EXPECT_EQ(error(ClientFrame(0x01, "a") + ClientFrame(0x81, "b")), kProtocolError);
    EXPECT_EQ(error(ClientFrame(0xc1, "a")), kProtocolError);  // Compressed.
    EXPECT_EQ(error(ClientFrame(0x83, "a")), kProtocolError);  // Unknown kind.
    EXPECT_EQ(error(ClientFrame(0x09, "a")), kProtocolError);  // Cut control frame.
    EXPECT_EQ(error(ClientFrame(0x89, std::string(126, 'a'))), kProtocolError);
    EXPECT_EQ(error(FrameHeader(FrameKind::kText, 1, std::nullopt) + "a"), kProtocolError);
    EXPECT_EQ(error(std::string("\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff", 10) + "mask"),
              kTooLarge);
}

class WebSocketTest : public ServerTest {
  protected:
    // Echoes what it gets, and tells the test what happens.
    void ServeEcho(WebSocketOptions options = {}) {
        handler_->handle = [this, options](HttpRequest, HttpReply reply) {
            HttpResponse response;
            const auto callbacks = std::make_shared<WebSocketCallbacks>();
            const auto session = std::make_shared<std::weak_ptr<WebSocketSession>>();
            callbacks->options = options;
            callbacks->on_open = [this, session](std::shared_ptr<WebSocketSession> opened) {
                *session = opened;
                opened_.Put(std::move(opened));
            };
            callbacks->on_message = [session](WebSocketMessage message) {
                const auto alive = session->lock();
                message.text ? alive->SendText(message.bytes) : alive->SendBinary(message.bytes);
            };
            callbacks->on_close = [this](WebSocketClosed closed) {
                closed_.Put(std::move(closed));
            };
            response.websocket = callbacks;
            reply(std::move(response));
        };
        Serve();
    }
    void OpenClient(HttpClient& client, WebSocketOptions options = {}) {
        const auto callbacks = std::make_shared<WebSocketCallbacks>();
        callbacks->options = options;
        callbacks->on_open = [this](std::shared_ptr<WebSocketSession> opened) {
            client_opened_.Put(std::move(opened));
        };
        callbacks->on_message = [this](WebSocketMessage message) {
            received_.Put(std::string(message.bytes));
        };
        callbacks->on_close = [this](WebSocketClosed closed) {
            client_closed_.Put(std::move(closed));
        };
        client.OpenWebSocket({.url = "ws://127.0.0.1:" + std::to_string(server_->port()) + "/ws",
                              .headers = {{"Authorization", "Bearer x"}}},
                             callbacks, [this](Error error) { failed_.Put(std::move(error)); });
    }
    std::unique_ptr<HttpClient> NewClient() { return HttpClient::Create(loop_.io(), {}).value(); }

    Mailbox<std::shared_ptr<WebSocketSession>> opened_, client_opened_;
    Mailbox<WebSocketClosed> closed_, client_closed_;
    Mailbox<std::string> received_;
    Mailbox<Error> failed_;
};

// A worker attaches and exchanges small and large messages with the scheduler.
TEST_F(WebSocketTest, MessagesOfEverySizeComeBack) {
    ServeEcho();
    const auto client = NewClient();
    OpenClient(*client);
    const auto session = client_opened_.Take();
    for (const std::size_t size : {0UL, 1UL, 125UL, 126UL, 65'535UL, 65'536UL, 1UL << 20}) {
        const std::string message(size, 'm');
        EXPECT_TRUE(session->SendBinary(message));
        EXPECT_TRUE(received_.Take() == message) << size;
    }
    session->SendText("中文");
    EXPECT_EQ(received_.Take(), "中文");
    session->Close(WebSocketCode::kNormal, "bye");
    EXPECT_EQ(closed_.Take().reason, "bye");
    EXPECT_EQ(client_closed_.Take().code, WebSocketCode::kNormal);
    EXPECT_FALSE(session->SendText("late"));
}

// Ten thousand small frames from another thread arrive in order.
TEST_F(WebSocketTest, BurstsKeepTheirOrder) {
    ServeEcho();
    const auto client = NewClient();
    OpenClient(*client);
    const auto session = client_opened_.Take();
    for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(session->SendText(std::to_string(i)));
    for (int i = 0; i < 10'000; ++i) ASSERT_EQ(received_.Take(), std::to_string(i));
    session->Close(WebSocketCode::kNormal, "");
    client_closed_.Take();
}

// Many begin messages that they do not end: what is kept of all of them is bounded.
TEST_F(WebSocketTest, UnfinishedMessagesOfAllSessionsTogetherAreBounded) {
    // Each may send 100,000 bytes; all together may have as many under way.
    ServeEcho(
        {.message_bytes_max = 100'000, .unfinished = std::make_shared<UnfinishedBytes>(100'000)});
    const std::string whole = ClientFrame(0x82, std::string(90'000, 'a'));
    RawClient first(server_->port());
    first.Send(kHandshake);
    opened_.Take();
    first.Send(std::string_view(whole).substr(0, 80'000));
    RawClient second(server_->port());
    second.Send(kHandshake);
    opened_.Take();

    second.Send(std::string_view(whole).substr(0, 80'000));

    // Whichever came last.
    EXPECT_EQ(closed_.Take().code, WebSocketCode::kTryLater);
}

// A worker sends a result that is larger than agreed.
TEST_F(WebSocketTest, TooLargeMessageEndsTheSession) {
    ServeEcho({.message_bytes_max = 1000});
    const auto client = NewClient();
    OpenClient(*client);
    const auto session = client_opened_.Take();
    session->SendBinary(std::string(100'000, 'x'));
    EXPECT_EQ(client_closed_.Take().code, WebSocketCode::kTooLarge);
    EXPECT_EQ(closed_.Take().code, WebSocketCode::kTooLarge);
}

// A worker's machine loses power: nothing arrives any more, not even a pong.
TEST_F(WebSocketTest, HalfOpenConnectionIsFound) {
    ServeEcho({.ping_interval = 30ms});
    RawClient client(server_->port());
    client.Send(kHandshake);
    EXPECT_TRUE(client.ReadUntil("\r\n\r\n").starts_with("HTTP/1.1 101 "));
    EXPECT_EQ(client.ReadBytes(2), std::string("\x89\x00", 2));  // A ping, which stays unanswered.
    const WebSocketClosed closed = closed_.Take();
    EXPECT_EQ(closed.code, WebSocketCode::kLost);
    EXPECT_EQ(client.ReadAll(), "");
}

// A quiet but healthy worker is not cut off.
TEST_F(WebSocketTest, AnsweredPingsKeepTheSession) {
    ServeEcho({.ping_interval = 20ms});
    RawClient client(server_->port());
    client.Send(kHandshake);
    client.ReadUntil("\r\n\r\n");
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(client.ReadBytes(2), std::string("\x89\x00", 2));
        client.Send(ClientFrame(0x8a, ""));
    }
    EXPECT_TRUE(closed_.empty());
    client.Send(ClientFrame(0x89, "still there"));
    std::string answer = client.ReadBytes(13);
    if (answer.starts_with(std::string("\x89\x00", 2)))
        answer = answer.substr(2) + client.ReadBytes(2);
    EXPECT_EQ(answer, "\x8a\x0bstill there");
}

// A worker stops reading. The scheduler's memory is bounded, and it can tell.
TEST_F(WebSocketTest, SendFailsWhenThePeerIsTooSlow) {
    ServeEcho({.queue_bytes_max = 100'000, .write_timeout = 60ms});
    RawClient client(server_->port());
    client.Send(kHandshake);
    client.ReadUntil("\r\n\r\n");
    const auto session = opened_.Take();
    const std::string message(10'000, 'x');
    int sent = 0;
    while (sent < 100'000 && session->SendBinary(message)) ++sent;
    EXPECT_LT(sent, 100'000);
    EXPECT_LE(session->queued_bytes(), 100'000U);
    EXPECT_EQ(closed_.Take().code, WebSocketCode::kLost);
}

// A browser opens the worker's URL by mistake; an old client speaks an old draft.
TEST_F(WebSocketTest, OtherRequestsAreRefused) {
    ServeEcho();
    RawClient client(server_->port());
    client.Send(Get("/ws"));
    EXPECT_TRUE(client.ReadAnswer().starts_with("HTTP/1.1 400 "));
    std::string old(kHandshake);
    old.replace(old.find("13"), 2, "8 ");
    client.Send(old);
    const std::string answer = client.ReadAnswer();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 426 "));
    EXPECT_NE(answer.find("Sec-WebSocket-Version: 13"), std::string::npos);
}

// A peer closes with a number that must not be sent, or that means nothing: it is told so, and the
// number is not repeated.
TEST_F(WebSocketTest, WrongCloseCodesAreAProtocolError) {
    ServeEcho();
    for (const int code : {0, 999, 1004, 1005, 1006, 1015, 2999, 5000, 65535}) {
        RawClient client(server_->port());
        client.Send(kHandshake);
        client.ReadUntil("\r\n\r\n");
        // Masked with zeros.
        client.Send(std::string("\x88\x82\0\0\0\0", 6) + static_cast<char>(code >> 8) +
                    static_cast<char>(code));
        EXPECT_EQ(closed_.Take().code, WebSocketCode::kProtocolError) << code;
        const std::string frame = client.ReadBytes(4);
        ASSERT_EQ(frame.size(), 4u) << code;
        EXPECT_EQ(frame.substr(2), "\x03\xea") << code;
    }
}

// The worker asks a scheduler that refuses it, and one that is not there.
TEST_F(WebSocketTest, FailedHandshakeIsReported) {
    handler_->handle = [](HttpRequest, HttpReply reply) { reply(HttpResponse::Text(401, "no")); };
    Serve();
    const auto client = NewClient();
    OpenClient(*client);
    const Error refused = failed_.Take();
    EXPECT_EQ(refused.code, ErrorCode::kConflict);
    EXPECT_NE(refused.detail.find("401"), std::string::npos);
    handler_->handle = [](HttpRequest, HttpReply reply) {
        HttpResponse response = HttpResponse::Text(401, "no");
        response.headers.emplace_back(
            "WWW-Authenticate",
            R"(Bearer error="invalid_token", error_description="the token has expired", a="b")");
        reply(std::move(response));
    };
    OpenClient(*client);
    EXPECT_TRUE(failed_.Take().detail.ends_with("with status 401: the token has expired"));
    StopAndWait(0ms);
    OpenClient(*client);
    EXPECT_EQ(failed_.Take().code, ErrorCode::kUnavailable);
}

// The node stops: workers are told to go elsewhere instead of finding a dead connection.
TEST_F(WebSocketTest, StopTellsTheWorkers) {
    ServeEcho();
    const auto client = NewClient();
    OpenClient(*client);
    const auto session = client_opened_.Take();
    StopAndWait(10s);
    EXPECT_EQ(client_closed_.Take().code, WebSocketCode::kGoingAway);
}

}  // namespace
}  // namespace takt::internal::http
