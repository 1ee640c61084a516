#include "tls/client_context.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/check.h"
#include "base/log.h"

namespace takt::internal {

Result<std::unique_ptr<TlsClientContext>> TlsClientContext::Load(TlsClientOptions options) {
    std::unique_ptr<TlsClientContext> made(new TlsClientContext(std::move(options)));
    made->stamps_ = made->Stamps();
    if (const Result<void> loaded = made->Reload(); !loaded) {
        return std::unexpected(loaded.error());
    }
    return made;
}

Result<void> TlsClientContext::Reload() {
    SslContextPointer context = NewTlsContext(TlsSide::kClient);
    SSL_CTX_set_verify(context.get(), options_.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    ERR_clear_error();
    if (!options_.ca_file.empty() &&
        SSL_CTX_load_verify_file(context.get(), options_.ca_file.c_str()) != 1) {
        return Fail(ErrorCode::kInvalid, fmt::format("CA file {} cannot be used: {}",
                                                     options_.ca_file, QueuedTlsError()));
    }
    if (!options_.certificate_file.empty()) {
        const Result<void> used =
            UseCertificate(context.get(), options_.certificate_file, options_.key_file);
        if (!used) return used;
    }
    wants_system_trust_ = options_.ca_file.empty() || options_.system_too;
    context_ = std::move(context);
    return {};
}

SslPointer TlsClientContext::NewSession(const std::string& host) {
    if (std::string now = Stamps(); now != stamps_) {
        stamps_ = std::move(now);
        if (const Result<void> loaded = Reload(); !loaded) {
            Log(LogLevel::kError, "tls", "changed certificates cannot be used; the old ones stay",
                {{"error", loaded.error().detail}});
        }
    }
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
