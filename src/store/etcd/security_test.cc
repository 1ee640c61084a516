// Users, passwords, certificates.
#include <filesystem>

#include "store/etcd/store_fixture.h"
#include "store/testing/certificates.h"

namespace takt::internal::etcd {
namespace {

class EtcdSecurityTest : public EtcdTest {
  protected:
    void EnableAuthentication() {
        for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
                 {"user", "add", "root:r00t"},
                 {"user", "grant-role", "root", "root"},
                 {"user", "add", "takt:s3cret"},
                 {"role", "add", "takt"},
                 {"role", "grant-permission", "takt", "--prefix=true", "readwrite", "/takt/"},
                 {"user", "grant-role", "takt", "takt"},
                 {"auth", "enable"}}) {
            const Result<std::string> done = server_->Ctl(command);
            ASSERT_TRUE(done) << command[0] << " " << command[1] << ": " << done.error().detail;
        }
    }
    std::string UrlOf(const std::string& user) {
        return "etcd://" + user + "@" + server_->url("?timeout=10s").substr(7);
    }
};

// The usual shared etcd: a user with a role for the prefix, nothing more.
TEST_F(EtcdSecurityTest, AUserWithARoleForThePrefixIsEnough) {
    StartServer();
    EnableAuthentication();
    store_ = MakeStore(UrlOf("takt:s3cret"));

    const Result<Term> term = Acquire();

    ASSERT_TRUE(term) << term.error().detail;
    const Execution row = make_.OneOff("e-1");
    const Result<void> done = Commit(*term, 1, {ExecutionChange{Place::kNone, Place::kLive, row}});
    EXPECT_TRUE(done) << done.error().detail;
    EXPECT_TRUE(Announce());
    ASSERT_TRUE(List({}));
    EXPECT_EQ(List({})->size(), 1u);
}

// etcd forgets all tokens when it is restarted.
TEST_F(EtcdSecurityTest, ATokenThatEtcdForgotIsReplaced) {
    StartServer();
    EnableAuthentication();
    store_ = MakeStore(UrlOf("takt:s3cret"));
    const Result<Term> term = Acquire();
    ASSERT_TRUE(term) << term.error().detail;
    ASSERT_TRUE(Commit(*term, 1, {}));

    server_->process().Kill();
    ASSERT_TRUE(server_->process().Restart());
    ASSERT_TRUE(server_->AwaitMember(0));

    const Result<void> done = CommitUntilDone(*term, 2, {SettingPut{"key", "value"}});
    EXPECT_TRUE(done) << done.error().detail;
    ASSERT_TRUE(Settings());
    EXPECT_EQ(Settings()->size(), 1u);
}

// Another user is added while the scheduler runs, which makes its token's view of the users old.
TEST_F(EtcdSecurityTest, AChangeOfUsersDisturbsNobody) {
    StartServer();
    EnableAuthentication();
    store_ = MakeStore(UrlOf("takt:s3cret"));
    const Result<Term> term = Acquire();
    ASSERT_TRUE(term) << term.error().detail;

    const Result<std::string> added =
        server_->Ctl({"--user", "root:r00t", "user", "add", "other:pw"});

    ASSERT_TRUE(added) << added.error().detail;
    const Result<void> done = Commit(*term, 1, {});
    EXPECT_TRUE(done) << done.error().detail;
}

// Somebody mistypes the URL. The message says what to do, and shows no password.
TEST_F(EtcdSecurityTest, WrongOrMissingUsersAreToldSo) {
    StartServer();
    EnableAuthentication();
    store_ = MakeStore(server_->url());
    const Result<Term> nobody = Acquire();
    store_ = MakeStore(UrlOf("takt:wr0ng"));
    const Result<Term> wrong = Acquire();
    store_ = MakeStore("etcd://takt:s3cret@" + server_->url("/elsewhere").substr(7));
    const Result<Term> elsewhere = Acquire();

    ASSERT_FALSE(nobody);
    EXPECT_EQ(nobody.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(nobody.error().detail.find("asks for a user"), std::string::npos)
        << nobody.error().detail;
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(wrong.error().detail.find("check user and password"), std::string::npos)
        << wrong.error().detail;
    EXPECT_EQ(wrong.error().detail.find("wr0ng"), std::string::npos);
    ASSERT_FALSE(elsewhere);
    EXPECT_NE(elsewhere.error().detail.find("role"), std::string::npos) << elsewhere.error().detail;
    EXPECT_EQ(store_->Describe().find("s3cret"), std::string::npos);
}

// A cluster that takes only clients with certificates.
TEST_F(EtcdSecurityTest, TlsWithAClientCertificate) {
    StartServer({.tls = true});
    OpenStore("?ca=" + server_->file("ca.pem") + "&cert=" + server_->file("client.pem") +
              "&key=" + server_->file("client.key"));

    const Result<Term> term = Acquire();

    ASSERT_TRUE(term) << term.error().detail;
    EXPECT_TRUE(Commit(*term, 1, {}));
    EXPECT_TRUE(Announce());
}

// Certificates are renewed every few weeks, and here the authority with them. etcd reads its own
// for every handshake; the scheduler finds the new files where the old ones were.
TEST_F(EtcdSecurityTest, RenewedCertificatesAreUsedForTheNextConnection) {
    StartServer({.tls = true});
    OpenStore("?timeout=2s&tls_ca=" + server_->file("ca.pem") + "&tls_cert=" +
              server_->file("client.pem") + "&tls_key=" + server_->file("client.key"));
    const Result<Term> term = Acquire();
    ASSERT_TRUE(term) << term.error().detail;
    const TempDirectory renewed;
    ASSERT_TRUE(MakeCertificates(renewed));

    server_->process().Kill();
    for (const char* name : {"ca.pem", "server.pem", "server.key", "client.pem", "client.key"}) {
        std::filesystem::copy_file(renewed.File(name), server_->file("new"));
        std::filesystem::rename(server_->file("new"), server_->file(name));
    }
    ASSERT_TRUE(server_->process().Restart());

    const Result<void> done = CommitUntilDone(*term, 1, {});
    EXPECT_TRUE(done) << done.error().detail;
}

// A laptop with an etcd whose certificate nobody signed: encrypted, if the operator says so.
TEST_F(EtcdSecurityTest, ACertificateThatNobodyVouchesForIsTakenOnlyIfSaidSo) {
    StartServer({.tls = true});
    OpenStore("?verify=0&tls_cert=" + server_->file("client.pem") +
              "&tls_key=" + server_->file("client.key"));

    const Result<Term> term = Acquire();

    EXPECT_TRUE(term) << term.error().detail;
}

// Without a certificate, without TLS, or with an authority that did not sign the server's: no way
// in, and nothing sent.
TEST_F(EtcdSecurityTest, TlsTurnsStrangersAway) {
    StartServer({.tls = true});
    const std::string ca = "&ca=" + server_->file("ca.pem");
    for (const std::string& rest :
         {std::string("?timeout=1s"), "?timeout=1s" + ca, std::string("?timeout=1s&tls=1")}) {
        OpenStore(rest);
        const Result<Term> term = Acquire();
        ASSERT_FALSE(term) << rest;
        EXPECT_EQ(term.error().code, ErrorCode::kUnavailable) << rest << term.error().detail;
    }
}

// The file was moved: better said at the start than found out by a handshake.
TEST_F(EtcdSecurityTest, ACertificateThatCannotBeReadIsRefusedAtOnce) {
    const Result<EtcdOptions> options = ParseEtcdUrl("etcd://localhost?ca=/does/not/exist.pem");
    ASSERT_TRUE(options);

    const auto store = OpenEtcd(*options);

    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::kInvalid);
    EXPECT_NE(store.error().detail.find("/does/not/exist.pem"), std::string::npos);
}

}  // namespace
}  // namespace takt::internal::etcd
