#include "alerts/mailer.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "base/check.h"

namespace takt::internal {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// A mail server for one connection: takes everything, or answers a command as the test says.
class FakeMailServer {
  public:
    explicit FakeMailServer(std::string refused = {}, std::string refusal = {})
        : refused_(std::move(refused)), refusal_(std::move(refusal)) {
        listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        TAKT_CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
        socklen_t size = sizeof address;
        TAKT_CHECK(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
        TAKT_CHECK(listen(listener_, 4) == 0);
        port = ntohs(address.sin_port);
        thread_ = std::thread([this] { Serve(); });
    }
    ~FakeMailServer() {
        shutdown(listener_, SHUT_RDWR);
        thread_.join();
        close(listener_);
    }
    Channel ChannelTo() const {
        return {.name = "mail",
                .kind = ChannelKind::kEmail,
                .url = "smtp://127.0.0.1:" + std::to_string(port),
                .user = "me",
                .password = "secret",
                .from = "takt@example.com",
                .to = {"a@example.com", "b@example.com"},
                .require_tls = false};
    }

    std::uint16_t port = 0;
    std::promise<std::string> heard;  // All that the client said.

  private:
    void Serve() {
        const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (client < 0) return heard.set_value("");
        std::string all;
        std::string line;
        const auto say = [&](std::string_view text) {
            const std::string answer = std::string(text) + "\r\n";
            return write(client, answer.data(), answer.size()) == ssize_t(answer.size());
        };
        say("220 mail.test ready");
        bool in_data = false;
        bool in_auth = false;
        for (char c; read(client, &c, 1) == 1;) {
            all += c;
            line += c;
            if (!line.ends_with("\r\n")) continue;
            if (in_data) {
                if (line == ".\r\n") in_data = !say("250 taken");
            } else if (!refused_.empty() && line.starts_with(refused_)) {
                say(refusal_);
            } else if (line.starts_with("EHLO")) {
                say("250-mail.test\r\n250 AUTH PLAIN LOGIN");
            } else if (line.starts_with("AUTH")) {
                in_auth = say("334 ");
            } else if (std::exchange(in_auth, false)) {
                say("235 welcome");
            } else if (line.starts_with("DATA")) {
                in_data = say("354 go on");
            } else if (line.starts_with("QUIT")) {
                say("221 bye");
                break;
            } else {
                say("250 ok");
            }
            line.clear();
        }
        close(client);
        heard.set_value(all);
    }

    const std::string refused_;
    const std::string refusal_;
    int listener_ = -1;
    std::thread thread_;
};

Result<void> SendBy(Mailer& mailer, const Channel& channel) {
    std::promise<Result<void>> sent;
    mailer.Send(channel, "Subject: x\r\n\r\n.a dot\r\n",
                [&](Result<void> result) { sent.set_value(std::move(result)); });
    return sent.get_future().get();
}

TEST(MailerTest, SendsToEveryReceiverWithItsPassword) {
    FakeMailServer server;
    Mailer mailer;
    const auto sent = SendBy(mailer, server.ChannelTo());
    ASSERT_TRUE(sent) << sent.error().detail;
    const std::string heard = server.heard.get_future().get();
    EXPECT_THAT(heard, HasSubstr("AUTH PLAIN"));
    EXPECT_THAT(heard, HasSubstr("MAIL FROM:<takt@example.com>"));
    EXPECT_THAT(heard, HasSubstr("RCPT TO:<a@example.com>"));
    EXPECT_THAT(heard, HasSubstr("RCPT TO:<b@example.com>"));
    EXPECT_THAT(heard, HasSubstr("\r\n..a dot\r\n")) << "a dot at a line's beginning is doubled";
}

TEST(MailerTest, AWrongPasswordIsForEverAndABusyServerIsNot) {
    Mailer mailer;
    FakeMailServer strict("AUTH", "535 no");
    const auto denied = SendBy(mailer, strict.ChannelTo());
    ASSERT_FALSE(denied);
    EXPECT_EQ(denied.error().code, ErrorCode::kInvalid) << denied.error().detail;
    FakeMailServer busy("MAIL", "451 later");
    const auto later = SendBy(mailer, busy.ChannelTo());
    ASSERT_FALSE(later);
    EXPECT_EQ(later.error().code, ErrorCode::kUnavailable) << later.error().detail;
}

// The operator wants TLS, and somebody in between took STARTTLS out of the answer.
TEST(MailerTest, WithoutTlsNothingIsSaidWhereTlsIsRequired) {
    FakeMailServer server;
    Channel channel = server.ChannelTo();
    channel.require_tls = true;
    Mailer mailer;
    EXPECT_FALSE(SendBy(mailer, channel));
    EXPECT_EQ(server.heard.get_future().get().find("AUTH"), std::string::npos)
        << "no password in the clear";
}

TEST(MailerTest, AnAddressThatMayNotBeCalledIsNotCalled) {
    FakeMailServer server;
    Channel channel = server.ChannelTo();
    channel.allow_address = [](const IpAddress&) { return false; };
    Mailer mailer;
    EXPECT_FALSE(SendBy(mailer, channel));
}

// The server accepts and says nothing more: a stop does not wait for its deadline.
TEST(MailerTest, AHangingServerDoesNotHoldUpAStop) {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(listen(listener, 4), 0);
    socklen_t size = sizeof address;
    getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
    std::promise<Result<void>> sent;
    const auto begin = std::chrono::steady_clock::now();
    {
        Mailer mailer({.timeout = 5min});
        Channel channel{.kind = ChannelKind::kEmail,
                        .url = "smtp://127.0.0.1:" + std::to_string(ntohs(address.sin_port)),
                        .from = "a@b",
                        .to = {"c@d"},
                        .require_tls = false};
        mailer.Send(channel, "x\r\n",
                    [&](Result<void> result) { sent.set_value(std::move(result)); });
        pollfd connected{.fd = listener, .events = POLLIN};
        ASSERT_EQ(poll(&connected, 1, 10'000), 1);
    }
    EXPECT_FALSE(sent.get_future().get());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
    close(listener);
}

}  // namespace
}  // namespace takt::internal
