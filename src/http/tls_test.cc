// TLS of the server and of the client, on real sockets.
#include "tls/server_context.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
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

// A TLS client that has its records in hand before they are sent, and can send half of one.
class TlsByHand {
  public:
    // With `cipher` it speaks TLS 1.2 and knows no other one.
    explicit TlsByHand(std::uint16_t port, const char* cipher = nullptr)
        : raw_(port), context_(SSL_CTX_new(TLS_client_method())), ssl_(SSL_new(context_.get())) {
        if (cipher) {
            SSL_set_max_proto_version(ssl_.get(), TLS1_2_VERSION);
            EXPECT_EQ(SSL_set_cipher_list(ssl_.get(), cipher), 1) << cipher;
        }
        SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
        SSL_set_connect_state(ssl_.get());
        while (open_ && SSL_do_handshake(ssl_.get()) != 1) {
            raw_.Send(TakeRecords());
            open_ = Receive();
        }
        raw_.Send(TakeRecords());
    }
    // False: the server ended the handshake.
    bool open() const { return open_; }

    std::string Encrypted(std::string_view bytes) {
        SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
        return TakeRecords();
    }
    bool Send(std::string_view records) { return raw_.Send(records); }
    // Of what the server says; less when it closes before.
    std::string ReadBytes(std::size_t count) {
        std::string text;
        char byte = 0;
        while (text.size() < count) {
            if (SSL_read(ssl_.get(), &byte, 1) == 1) {
                text += byte;
            } else if (!Receive()) {
                break;
            }
        }
        return text;
    }
    std::string ReadUntil(std::string_view end) {
        std::string text;
        while (!text.ends_with(end)) {
            const std::string more = ReadBytes(1);
            if (more.empty()) break;
            text += more;
        }
        return text;
    }

  private:
    std::string TakeRecords() {
        BIO* out = SSL_get_wbio(ssl_.get());
        std::string records(BIO_ctrl_pending(out), 0);
        if (!records.empty()) BIO_read(out, records.data(), static_cast<int>(records.size()));
        return records;
    }
    bool Receive() {
        const std::string byte = raw_.ReadBytes(1);
        if (!byte.empty()) BIO_write(SSL_get_rbio(ssl_.get()), byte.data(), 1);
        return !byte.empty();
    }

    RawClient raw_;
    bool open_ = true;
    const std::unique_ptr<SSL_CTX, SslDelete> context_;
    const SslPointer ssl_;
};

class TlsTest : public ServerTest {
  protected:
    TlsTest() {
        std::string pattern = (std::filesystem::temp_directory_path() / "takt-tls-XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
        WriteCertificate(File("a.pem"), File("a.key"), "first");
        options_.tls = TlsServerFiles{File("a.pem"), File("a.key")};
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

// Somebody forgot the s of https://; a port scanner; one that connects and says nothing.
TEST_F(TlsTest, ClientThatDoesNotSpeakTlsIsToldAndDropped) {
    options_.head_timeout = 100ms;
    Serve();
    const auto client = BlockingHttpClient::Create({}).value();
    const auto answer =
        client->Send({.url = "http://127.0.0.1:" + std::to_string(server_->port()) + "/"});
    ASSERT_TRUE(answer) << answer.error().detail;
    EXPECT_EQ(answer->status, 400);
    EXPECT_EQ(answer->body, "this port speaks TLS: its address begins with https://\n");
    RawClient scanner(server_->port());
    scanner.Send("\x01\x02\x03\x04\x05 nothing that anybody speaks");
    EXPECT_EQ(scanner.ReadAll().find("HTTP"), std::string::npos);
    RawClient silent(server_->port());
    EXPECT_EQ(silent.ReadAll(), "");
    EXPECT_FALSE(silent.timed_out());
}

// A scanner, or a client of ten years ago, offers what padding attacks were made for; and what has no
// forward secrecy.
TEST_F(TlsTest, CiphersWithoutAuthenticatedEncryptionAreRefused) {
    Serve();
    EXPECT_TRUE(TlsByHand(server_->port(), "ECDHE-ECDSA-AES128-GCM-SHA256").open());
    EXPECT_TRUE(TlsByHand(server_->port(), "ECDHE-ECDSA-CHACHA20-POLY1305").open());
    for (const char* cipher : {"ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES128-SHA256",
                               "ECDHE-ECDSA-AES256-SHA384", "AES128-GCM-SHA256"}) {
        EXPECT_FALSE(TlsByHand(server_->port(), cipher).open()) << cipher;
    }
}

// The configuration names files that do not fit.
TEST_F(TlsTest, BadFilesAreReportedAtTheStart) {
    WriteCertificate(File("b.pem"), File("b.key"), "other");
    options_.tls = TlsServerFiles{File("a.pem"), File("b.key")};
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

// A worker's machine loses its network in the middle of a TLS record. The thread that serves it
// serves everybody else too.
TEST_F(TlsTest, HalfARecordOfAFrameHoldsUpNobody) {
    handler_->handle = [](HttpRequest request, HttpReply reply) {
        if (request.path != "/session") return reply(HttpResponse::Text(200, "ok"));
        HttpResponse response;
        response.websocket = std::make_shared<WebSocketCallbacks>();
        const auto session = std::make_shared<std::weak_ptr<WebSocketSession>>();
        response.websocket->on_open = [session](std::shared_ptr<WebSocketSession> opened) {
            *session = opened;
        };
        response.websocket->on_message = [session](WebSocketMessage message) {
            session->lock()->SendText(message.bytes);
        };
        reply(std::move(response));
    };
    Serve();
    TlsByHand worker(server_->port());
    ASSERT_TRUE(worker.open());
    worker.Send(worker.Encrypted(
        "GET /session HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"));
    ASSERT_TRUE(worker.ReadUntil("\r\n\r\n").starts_with("HTTP/1.1 101 "));
    // A masked text frame; the mask is zero.
    const std::string frame("\x81\x82\0\0\0\0hi", 8);
    const std::string record = worker.Encrypted(frame);
    worker.Send(std::string_view(record).substr(0, record.size() / 2));
    // More than its header has arrived by the time that another client's handshake is through.
    const auto client = BlockingHttpClient::Create({.tls = {.ca_file = File("a.pem")}}).value();
    const auto answer = client->Send(
        {.url = "https://127.0.0.1:" + std::to_string(server_->port()) + "/", .timeout = 10s});
    EXPECT_TRUE(answer) << answer.error().detail;
    worker.Send(std::string_view(record).substr(record.size() / 2));
    EXPECT_EQ(worker.ReadBytes(4), "\x81\x02hi");
}

}  // namespace
}  // namespace takt::internal
