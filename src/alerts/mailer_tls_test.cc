// E-mail over TLS, from the start and after STARTTLS, to a server with a certificate of the test's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "alerts/fake_mail_server.h"
#include "alerts/mailer.h"
#include "store/testing/server_process.h"

namespace takt::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class MailerTlsTest : public ::testing::TestWithParam<FakeMailServer::Tls> {
  protected:
    // A certificate that signs itself; `name` as in subjectAltName.
    void MakeCertificate(const std::string& file, const std::string& name) {
        const auto made = RunProgram(
            {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
             "-nodes", "-days", "2", "-subj", "/CN=" + file, "-addext", "subjectAltName=" + name,
             "-keyout", directory_.File(file + ".key"), "-out", File(file)});
        ASSERT_TRUE(made) << made.error().detail;
    }
    std::string File(const std::string& name) const { return directory_.File(name + ".pem"); }
    FakeMailServer::Options Showing(const std::string& certificate) const {
        return {.tls = GetParam(),
                .certificate_file = File(certificate),
                .key_file = directory_.File(certificate + ".key")};
    }

    TempDirectory directory_;
    Mailer mailer_;
};

// The mail server of a company, with a certificate of the company's authority.
TEST_P(MailerTlsTest, AMailGoesOutOverTlsOnly) {
    MakeCertificate("mail", "IP:127.0.0.1");
    FakeMailServer server(Showing("mail"));
    Channel channel = server.ChannelTo();
    channel.ca_file = File("mail");
    const auto sent = SendBy(mailer_, channel);
    ASSERT_TRUE(sent) << sent.error().detail;
    const std::string heard = server.heard.get_future().get();
    const std::size_t secured = heard.find(FakeMailServer::kSecured);
    ASSERT_NE(secured, std::string::npos) << heard;
    const std::string before = heard.substr(0, secured);
    if (GetParam() == FakeMailServer::Tls::kFromTheStart) {
        EXPECT_EQ(before, "");
    } else {
        EXPECT_THAT(before, StartsWith("EHLO"));
        EXPECT_TRUE(before.ends_with("STARTTLS\r\n")) << before;
        EXPECT_THAT(before, Not(HasSubstr("AUTH")));
    }
    const std::string after = heard.substr(secured);
    EXPECT_THAT(after, HasSubstr("AUTH PLAIN"));
    EXPECT_THAT(after, HasSubstr("RCPT TO:<b@example.com>"));
    EXPECT_THAT(after, HasSubstr("\r\n..a dot\r\n"));
}

// Somebody in between answers in the mail server's place.
TEST_P(MailerTlsTest, ACertificateOfAStrangerIsRefusedAndHearsNoPassword) {
    MakeCertificate("mail", "IP:127.0.0.1");
    MakeCertificate("stranger", "IP:127.0.0.1");
    FakeMailServer server(Showing("stranger"));
    Channel channel = server.ChannelTo();
    channel.ca_file = File("mail");
    const auto sent = SendBy(mailer_, channel);
    ASSERT_FALSE(sent);
    EXPECT_THAT(sent.error().detail, HasSubstr("certificate"));
    EXPECT_EQ(sent.error().code, ErrorCode::kUnavailable) << "a renewed one may come";
    EXPECT_THAT(server.heard.get_future().get(), Not(HasSubstr("AUTH")));
}

// The certificate is genuine, and somebody else's.
TEST_P(MailerTlsTest, ACertificateForAnotherNameIsRefusedAndHearsNoPassword) {
    MakeCertificate("other", "DNS:other.example.com");
    FakeMailServer server(Showing("other"));
    Channel channel = server.ChannelTo();
    channel.ca_file = File("other");
    EXPECT_FALSE(SendBy(mailer_, channel));
    EXPECT_THAT(server.heard.get_future().get(), Not(HasSubstr("AUTH")));
}

INSTANTIATE_TEST_SUITE_P(AllWays, MailerTlsTest,
                         ::testing::Values(FakeMailServer::Tls::kFromTheStart,
                                           FakeMailServer::Tls::kAfterStartTls),
                         [](const auto& info) {
                             return info.param == FakeMailServer::Tls::kFromTheStart
                                        ? "FromTheStart"
                                        : "AfterStartTls";
                         });

}  // namespace
}  // namespace takt::internal
