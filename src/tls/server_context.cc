#include "tls/server_context.h"

#include <openssl/ssl.h>

#include <utility>

#include "base/check.h"

namespace takt::internal {

Result<std::unique_ptr<TlsServerContext>> TlsServerContext::Load(TlsServerFiles files) {
    std::unique_ptr<TlsServerContext> made(new TlsServerContext(std::move(files)));
    made->stamps_ = made->Stamps();
    if (const auto loaded = made->Reload(); !loaded) return std::unexpected(loaded.error());
    return made;
}

Result<bool> TlsServerContext::ReloadIfChanged() {
    std::string now = Stamps();
    if (now == stamps_) return false;
    stamps_ = std::move(now);
    if (const auto loaded = Reload(); !loaded) return std::unexpected(loaded.error());
    return true;
}

Result<void> TlsServerContext::Reload() {
    SslContextPointer context = NewTlsContext(TlsSide::kServer);
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

}  // namespace takt::internal
