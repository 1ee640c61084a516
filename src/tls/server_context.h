// TlsServerContext: what a server of ours shows those who connect to it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "tls/session.h"

namespace takt::internal {

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
    std::string Stamps() const { return FileStamps({&files_.certificate_file, &files_.key_file}); }

    TlsServerFiles files_;
    std::string stamps_;
    SslContextPointer context_;
};

}  // namespace takt::internal
