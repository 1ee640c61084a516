#include "alerts/mailer.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>

#include "alerts/fake_mail_server.h"
#include "base/log.h"

namespace takt::internal {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

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
    FakeMailServer strict({.refused = "AUTH", .refusal = "535 no"});
    const auto denied = SendBy(mailer, strict.ChannelTo());
    ASSERT_FALSE(denied);
    EXPECT_EQ(denied.error().code, ErrorCode::kInvalid) << denied.error().detail;
    FakeMailServer busy({.refused = "MAIL", .refusal = "451 later"});
    const auto later = SendBy(mailer, busy.ChannelTo());
    ASSERT_FALSE(later);
    EXPECT_EQ(later.error().code, ErrorCode::kUnavailable) << later.error().detail;
}

// One of the two left the company last month; the alert is for the other one as well.
TEST(MailerTest, AReceiverThatIsRefusedTakesTheMailFromNobodyElse) {
    const LogCapture log;
    FakeMailServer server({.refused = "RCPT TO:<a@", .refusal = "550-sorry\r\n550 no such user"});
    Mailer mailer;
    const auto sent = SendBy(mailer, server.ChannelTo());
    ASSERT_TRUE(sent) << sent.error().detail;
    const std::string heard = server.heard.get_future().get();
    EXPECT_THAT(heard, HasSubstr("RCPT TO:<b@example.com>"));
    EXPECT_THAT(heard, HasSubstr("..a dot")) << "the message itself went out";
    const std::vector<std::string> lines = log.lines();
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_THAT(lines[0], HasSubstr("a@example.com (550 no such user)"));
    EXPECT_THAT(lines[0], Not(HasSubstr("b@example.com")));
    EXPECT_THAT(lines[0], Not(HasSubstr("secret")));
}

// The mail server takes mail for nobody in the list: somebody must hear that nobody heard.
TEST(MailerTest, AMailThatNobodyAcceptedIsAFailure) {
    Mailer mailer;
    FakeMailServer strict({.refused = "RCPT", .refusal = "550 no such user"});
    const auto refused = SendBy(mailer, strict.ChannelTo());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(refused.error().detail, HasSubstr("a@example.com (550 no such user), b@example"));
    EXPECT_THAT(strict.heard.get_future().get(), Not(HasSubstr("DATA")));
    FakeMailServer busy({.refused = "RCPT", .refusal = "451 later"});
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

// All namespaces share the mailer: what one of them filled passes, and nobody's mail is dropped.
TEST(MailerTest, WhoFindsItFullMayTryAgain) {
    Mailer mailer({.queue_max = 0});
    const auto refused = SendBy(mailer, {.kind = ChannelKind::kEmail, .url = "smtp://127.0.0.1:1"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
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
