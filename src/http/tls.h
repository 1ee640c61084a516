// TLS 1.2 and later for the server and the client, over OpenSSL.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace takt::internal {

struct SslDelete {
    void operator()(SSL* ssl) const;
    void operator()(SSL_CTX* context) const;
};
using SslPointer = std::unique_ptr<SSL, SslDelete>;

// Reads and writes `descriptor` without blocking and without raising SIGPIPE.
void AttachSocket(SSL* ssl, int descriptor);

// Why the last operation failed, in one line, and forgets it.
std::string TlsErrorText(SSL* ssl);

struct TlsServerFiles {
    std::string certificate_file;  // PEM, leaf first, then intermediates.
    std::string key_file;          // PEM, not encrypted.
};

// A server's certificate, reloaded when its files change. Not for concurrent use.
class TlsServerContext {
  public:
    // kInvalid when the files cannot be read or do not belong together.
    static Result<std::unique_ptr<TlsServerContext>> Load(TlsServerFiles files);

    // True when new files were taken. Connections that exist keep what they began with. On failure
    // the old certificate stays in use; the same broken files are not tried a second time.
    Result<bool> ReloadIfChanged();

    SslPointer NewSession() const;

  private:
    explicit TlsServerContext(TlsServerFiles files) : files_(std::move(files)) {}
    Result<void> Reload();
    std::string Fingerprint() const;

    TlsServerFiles files_;
    std::string fingerprint_;  // Inode, size and time of change of each file.
    std::unique_ptr<SSL_CTX, SslDelete> context_;
};

struct TlsClientOptions {
    std::string ca_file = {};  // Empty: the system's certificates.
    bool system_too = false;   // Those of the system beside `ca_file`.
};

class TlsClientContext {
  public:
    static Result<std::unique_ptr<TlsClientContext>> Load(const TlsClientOptions& options);

    // A session that accepts only a certificate valid for `host`, a name or an IP address.
    SslPointer NewSession(const std::string& host);

  private:
    std::unique_ptr<SSL_CTX, SslDelete> context_;
    bool wants_system_trust_ = false;
};

}  // namespace takt::internal
