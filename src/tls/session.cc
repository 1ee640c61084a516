#include "tls/session.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>

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

}  // namespace

std::string QueuedTlsError() {
    std::array<char, 256> text{};
    const unsigned long code = ERR_get_error();
    ERR_clear_error();
    if (code == 0) return "connection ended";
    ERR_error_string_n(code, text.data(), text.size());
    return text.data();
}

SslContextPointer NewTlsContext(TlsSide side) {
    SslContextPointer context(
        SSL_CTX_new(side == TlsSide::kClient ? TLS_client_method() : TLS_server_method()));
    TAKT_CHECK(context != nullptr);
    SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
    SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    // Of TLS 1.2 only what TLS 1.3 has too: forward secrecy and authenticated encryption, no CBC.
    // Servers of others that we connect to may be older.
    if (side == TlsSide::kServer) {
        TAKT_CHECK(SSL_CTX_set_cipher_list(context.get(), "ECDHE+AESGCM:ECDHE+CHACHA20") == 1);
    }
    // RELEASE_BUFFERS: an idle session must not hold 32 KB. The other two: a write may be retried
    // from another address and need not be whole.
    SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                        SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    return context;
}

Result<void> UseCertificate(SSL_CTX* context, const std::string& certificate_file,
                            const std::string& key_file) {
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1) {
        return Fail(ErrorCode::kInvalid, fmt::format("certificate {} cannot be used: {}",
                                                     certificate_file, QueuedTlsError()));
    }
    if (SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(context) != 1) {
        return Fail(ErrorCode::kInvalid,
                    fmt::format("key {} cannot be used: {}", key_file, QueuedTlsError()));
    }
    return {};
}

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
    std::string queued = QueuedTlsError();  // Empties the queue whatever is said.
    if (verified == X509_V_OK) return queued;
    return fmt::format("certificate refused: {}", X509_verify_cert_error_string(verified));
}

std::string FileStamps(std::initializer_list<const std::string*> files) {
    std::string text;
    for (const std::string* file : files) {
        struct stat found{};
        if (file->empty() || ::stat(file->c_str(), &found) != 0) continue;
        text += fmt::format("{}:{}:{}.{};", found.st_ino, found.st_size, found.st_mtim.tv_sec,
                            found.st_mtim.tv_nsec);
    }
    return text;
}

}  // namespace takt::internal
