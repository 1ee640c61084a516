#include "http/tls.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <filesystem>

#include "http/client.h"
#include "http/test_support.h"

namespace takt::internal {
namespace {

// A certificate that signs itself, for 127.0.0.1 and localhost, in two files.
void WriteCertificate(const std::string& certificate_file, const std::string& key_file,
                      const char* common_name) {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME* name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(common_name), -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_EXTENSION* names =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
    X509_add_ext(certificate, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(certificate, key, EVP_sha256());
    // Renamed into place, as certificate tools do.
    FILE* out = std::fopen((certificate_file + ".new").c_str(), "w");
    PEM_write_X509(out, certificate);
    std::fclose(out);
    out = std::fopen((key_file + ".new").c_str(), "w");
    PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(out);
    std::filesystem::rename(certificate_file + ".new", certificate_file);
    std::filesystem::rename(key_file + ".new", key_file);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

class TlsTest : public ServerTest {
  protected:
    TlsTest() {
        std::string pattern = (std::filesystem::temp_directory_path() / "takt-tls-XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
        WriteCertificate(File("a.pem"), File("a.key"), "first");
        options_.tls = TlsServerFiles{File("a.pem"), File("a.key"), ""};
    }
    ~TlsTest() override { std::filesystem::remove_all(folder_); }

    std::string File(const std::string& name) const { return folder_ + "/" + name; }
    Result<HttpAnswer> Call(const std::string& host, const std::string& ca_file) {
        const auto client = BlockingHttpClient::Create({.tls = {.ca_file = ca_file}}).value();
        return client->Send({.method = HttpMethod::kPost,
                             .url = "https://" + host + ":" + std::to_string(server_->port()) + "/",
                             .body = std::string(100'000, 'b')});
    }

    std::string folder_;
};

// An operator turns TLS on.
TEST_F(TlsTest, CallsAreEncryptedAndVerified) {
    handler_->handle = [](HttpRequest request, HttpReply reply) {
        EXPECT_TRUE(request.tls);
        reply(HttpResponse::Text(200, request.body + std::string(1 << 20, 'y')));
    };
    Serve();
    for (const std::string host : {"127.0.0.1", "localhost"}) {
        const auto answer = Call(host, File("a.pem"));
        ASSERT_TRUE(answer) << answer.error().detail;
        EXPECT_EQ(answer->body.size(), 100'000U + (1 << 20));
    }
}

// Somebody in the middle shows a certificate of his own, or one for another name.
TEST_F(TlsTest, CertificateThatIsNotTrustedIsRefused) {
    Serve();
    WriteCertificate(File("b.pem"), File("b.key"), "other");
    const auto foreign = Call("127.0.0.1", File("b.pem"));
    ASSERT_FALSE(foreign);
    EXPECT_EQ(foreign.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(foreign.error().detail.find("certificate"), std::string::npos);
    const auto other_name = Call("127.0.0.2", File("a.pem"));
    EXPECT_FALSE(other_name);
}

// Certificates are renewed every few weeks; the node is not restarted for that.
TEST_F(TlsTest, RenewedCertificateIsTaken) {
    options_.tls_reload_interval = 20ms;
    Serve();
    std::filesystem::copy_file(File("a.pem"), File("old.pem"));
    ASSERT_TRUE(Call("127.0.0.1", File("old.pem")));
    // A half-written renewal first: the old one stays in use.
    std::filesystem::rename(File("a.key"), File("a.key.away"));
    EXPECT_NE(logged_.Take().find("the old ones stay"), std::string::npos);
    EXPECT_TRUE(Call("127.0.0.1", File("old.pem")));
    WriteCertificate(File("a.pem"), File("a.key"), "second");
    while (logged_.Take() != "TLS certificate reloaded") {
    }
    EXPECT_FALSE(Call("127.0.0.1", File("old.pem")));
    EXPECT_TRUE(Call("127.0.0.1", File("a.pem")));
}

// Only workers that have a certificate may come in.
TEST_F(TlsTest, ClientCertificateCanBeRequired) {
    WriteCertificate(File("client.pem"), File("client.key"), "worker");
    options_.tls->client_ca_file = File("client.pem");
    Serve();
    EXPECT_FALSE(Call("127.0.0.1", File("a.pem")));
    const auto client = BlockingHttpClient::Create({.tls = {.ca_file = File("a.pem"),
                                                            .certificate_file = File("client.pem"),
                                                            .key_file = File("client.key")}})
                            .value();
    const auto answer =
        client->Send({.url = "https://127.0.0.1:" + std::to_string(server_->port()) + "/"});
    EXPECT_TRUE(answer) << answer.error().detail;
}

// A plain client, or a port scanner, on the TLS port; one that connects and says nothing.
TEST_F(TlsTest, ClientThatDoesNotSpeakTlsIsDropped) {
    options_.head_timeout = 100ms;
    Serve();
    RawClient plain(server_->port());
    plain.Send(Get("/"));
    EXPECT_EQ(plain.ReadAll().find("HTTP"), std::string::npos);
    RawClient silent(server_->port());
    EXPECT_EQ(silent.ReadAll(), "");
    EXPECT_FALSE(silent.timed_out());
}

// The configuration names files that do not fit.
TEST_F(TlsTest, BadFilesAreReportedAtTheStart) {
    WriteCertificate(File("b.pem"), File("b.key"), "other");
    options_.tls = TlsServerFiles{File("a.pem"), File("b.key"), ""};
    EXPECT_EQ(HttpServer::Listen(loop_.io(), options_, handler_).error().code, ErrorCode::kInvalid);
    EXPECT_FALSE(BlockingHttpClient::Create({.tls = {.ca_file = File("none.pem")}}));
}

// Worker links over TLS.
TEST_F(TlsTest, WebSocketsWorkOverTls) {
    handler_->handle = [](HttpRequest, HttpReply reply) {
        HttpResponse response;
        response.websocket = std::make_shared<WebSocketCallbacks>();
        const auto session = std::make_shared<std::weak_ptr<WebSocketSession>>();
        response.websocket->on_open = [session](std::shared_ptr<WebSocketSession> opened) {
            *session = opened;
        };
        response.websocket->on_message = [session](WebSocketMessage message) {
            session->lock()->SendBinary(message.bytes);
        };
        reply(std::move(response));
    };
    Serve();
    const auto client = HttpClient::Create(loop_.io(), {.tls = {.ca_file = File("a.pem")}}).value();
    Mailbox<std::string> received;
    const auto callbacks = std::make_shared<WebSocketCallbacks>();
    callbacks->on_open = [&](std::shared_ptr<WebSocketSession> session) {
        session->SendBinary(std::string(1 << 20, 'w'));
    };
    callbacks->on_message = [&](WebSocketMessage message) {
        received.Put(std::string(message.bytes));
    };
    Mailbox<bool> closed;
    callbacks->on_close = [&](WebSocketClosed) { closed.Put(true); };
    client->OpenWebSocket({.url = "wss://127.0.0.1:" + std::to_string(server_->port()) + "/"},
                          callbacks, [](Error error) { ADD_FAILURE() << error.detail; });
    EXPECT_EQ(received.Take().size(), 1U << 20);
    StopAndWait(10s);
    closed.Take();
}

}  // namespace
}  // namespace takt::internal
