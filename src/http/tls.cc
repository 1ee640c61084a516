#include "http/tls.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/check.h"

namespace takt::internal {
namespace {

int Descriptor(BIO* bio) {
    return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

int SocketWrite(BIO* bio, const char* bytes, int size) {
    BIO_clear_retry_flags(bio);
    const ssize_t sent =
        ::send(Descriptor(bio), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
    return static_cast<int>(sent);
}

int SocketRead(BIO* bio, char* bytes, int size) {
    BIO_clear_retry_flags(bio);
    const ssize_t got = ::recv(Descriptor(bio), bytes, static_cast<std::size_t>(size), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
    if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    return static_cast<int>(got);
}

long SocketControl(BIO* bio, int command, long, void*) {
    if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    return command == BIO_CTRL_FLUSH || command == BIO_CTRL_DUP;
}

// OpenSSL's own socket BIO uses write(2), which raises SIGPIPE when the peer is gone.
BIO_METHOD* SocketMethod() {
    static BIO_METHOD* const method = [] {
        BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "takt socket");
        TAKT_CHECK(made != nullptr);
        BIO_meth_set_write(made, SocketWrite);
        BIO_meth_set_read(made, SocketRead);
        BIO_meth_set_ctrl(made, SocketControl);
        return made;
    }();
    return method;
}

std::string QueuedError() {
    std::array<char, 256> text{};
    const unsigned long code = ERR_get_error();
    ERR_clear_error();
    if (code == 0) return "connection ended";
    ERR_error_string_n(code, text.data(), text.size());
    return text.data();
}

void Harden(SSL_CTX* context) {
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    // RELEASE_BUFFERS: an idle session must not hold 32 KB. The other two: a write may be retried
    // from another address and need not be whole.
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

Result<void> UseCertificate(SSL_CTX* context, const std::string& certificate,
                            const std::string& key) {
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) {
        return Fail(ErrorCode::kInvalid,
                    fmt::format("certificate {} cannot be used: {}", certificate, QueuedError()));
    }
    if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(context) != 1) {
        return Fail(ErrorCode::kInvalid,
                    fmt::format("key {} cannot be used: {}", key, QueuedError()));
    }
    return {};
}

}  // namespace

void SslDelete::operator()(SSL* ssl) const {
    SSL_free(ssl);
}
void SslDelete::operator()(SSL_CTX* context) const {
    SSL_CTX_free(context);
}

void AttachSocket(SSL* ssl, int descriptor) {
    BIO* bio = BIO_new(SocketMethod());
    TAKT_CHECK(bio != nullptr);
    // A number in the place of a pointer, never followed. NOLINTNEXTLINE(performance-no-int-to-ptr)
    BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)));
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
}

std::string TlsErrorText(SSL* ssl) {
    const long verified = SSL_get_verify_result(ssl);
    std::string queued = QueuedError();  // Empties the queue whatever is said.
    if (verified == X509_V_OK) return queued;
    return fmt::format("certificate refused: {}", X509_verify_cert_error_string(verified));
}

Result<std::unique_ptr<TlsServerContext>> TlsServerContext::Load(TlsServerFiles files) {
    std::unique_ptr<TlsServerContext> made(new TlsServerContext(std::move(files)));
    made->fingerprint_ = made->Fingerprint();
    if (const auto loaded = made->Reload(); !loaded) return std::unexpected(loaded.error());
    return made;
}

std::string TlsServerContext::Fingerprint() const {
    std::string text;
    for (const std::string* file : {&files_.certificate_file, &files_.key_file}) {
        struct stat found{};
        if (::stat(file->c_str(), &found) != 0) continue;
        text += fmt::format("{}:{}:{}.{};", found.st_ino, found.st_size, found.st_mtim.tv_sec,
                            found.st_mtim.tv_nsec);
    }
    return text;
}

Result<bool> TlsServerContext::ReloadIfChanged() {
    std::string now = Fingerprint();
    if (now == fingerprint_) return false;
    fingerprint_ = std::move(now);
    if (const auto loaded = Reload(); !loaded) return std::unexpected(loaded.error());
    return true;
}

Result<void> TlsServerContext::Reload() {
    std::unique_ptr<SSL_CTX, SslDelete> context(SSL_CTX_new(TLS_server_method()));
    TAKT_CHECK(context != nullptr);
    Harden(context.get());
    if (const auto used = UseCertificate(context.get(), files_.certificate_file, files_.key_file);
        !used) {
        return used;
    }
    context_ = std::move(context);
    return {};
}

SslPointer TlsServerContext::NewSession() const {
    SslPointer ssl(SSL_new(context_.get()));
    TAKT_CHECK(ssl != nullptr);
    SSL_set_accept_state(ssl.get());
    return ssl;
}

Result<std::unique_ptr<TlsClientContext>> TlsClientContext::Load(const TlsClientOptions& options) {
    auto made = std::make_unique<TlsClientContext>();
    made->context_.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX* context = made->context_.get();
    TAKT_CHECK(context != nullptr);
    Harden(context);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    ERR_clear_error();
    made->wants_system_trust_ = options.ca_file.empty() || options.system_too;
    if (!options.ca_file.empty() &&
        SSL_CTX_load_verify_file(context, options.ca_file.c_str()) != 1) {
        return Fail(ErrorCode::kInvalid,
                    fmt::format("CA file {} cannot be used: {}", options.ca_file, QueuedError()));
    }
    return made;
}

SslPointer TlsClientContext::NewSession(const std::string& host) {
    // Reading all of the system's certificates takes 20 ms, which most command lines never need.
    // Without them every server is refused, which is what the caller then sees.
    if (std::exchange(wants_system_trust_, false)) SSL_CTX_set_default_verify_paths(context_.get());
    SslPointer ssl(SSL_new(context_.get()));
    TAKT_CHECK(ssl != nullptr);
    SSL_set_connect_state(ssl.get());
    X509_VERIFY_PARAM* rules = SSL_get0_param(ssl.get());
    // An address is matched against the certificate's addresses and is never sent as a server name.
    if (X509_VERIFY_PARAM_set1_ip_asc(rules, host.c_str()) != 1) {
        TAKT_CHECK(SSL_set1_host(ssl.get(), host.c_str()) == 1);
        SSL_set_tlsext_host_name(ssl.get(), host.c_str());
    }
    return ssl;
}

}  // namespace takt::internal
