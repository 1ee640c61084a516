// TlsClientContext: whom we trust when we connect by TLS, and by what we are known there.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "tls/session.h"

namespace takt::internal {

struct TlsClientOptions {
    std::string ca_file = {};           // Empty: the system's certificates.
    bool system_too = false;            // Those of the system beside `ca_file`.
    std::string certificate_file = {};  // PEM, for servers that ask for one; with key_file.
    std::string key_file = {};
    bool verify = true;  // The server's certificate and its name.
};

// Not for concurrent use.
class TlsClientContext {
  public:
    // kInvalid, naming the file, when one cannot be used.
    static Result<std::unique_ptr<TlsClientContext>> Load(TlsClientOptions options);

    // A session that accepts only a certificate valid for `host`, a name or an IP address. Files
    // that were replaced meanwhile are read again; if they cannot be used, those read before stay
    // in use and the log says so, once.
    SslPointer NewSession(const std::string& host);

  private:
    explicit TlsClientContext(TlsClientOptions options) : options_(std::move(options)) {}
    Result<void> Reload();
    std::string Stamps() const {
        return FileStamps({&options_.ca_file, &options_.certificate_file, &options_.key_file});
    }

    const TlsClientOptions options_;
    std::string stamps_;
    SslContextPointer context_;
    bool wants_system_trust_ = false;
};

}  // namespace takt::internal
