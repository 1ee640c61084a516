// A TLS session (1.2 and later, over OpenSSL) as server and client begin it: how it reads and
// writes a socket, what its context has in common, and what went wrong with it.
#pragma once

#include <openssl/types.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

#include "base/error.h"

namespace takt::internal {

struct SslDelete {
    void operator()(SSL* ssl) const;
    void operator()(SSL_CTX* context) const;
};
using SslPointer = std::unique_ptr<SSL, SslDelete>;
using SslContextPointer = std::unique_ptr<SSL_CTX, SslDelete>;

// Reads and writes `descriptor` without blocking and without raising SIGPIPE.
void AttachSocket(SSL* ssl, int descriptor);

// Why the last operation failed, in one line, and forgets it.
std::string TlsErrorText(SSL* ssl);
// The same without a session: of what was done to a context.
std::string QueuedTlsError();

enum class TlsSide : std::uint8_t { kClient, kServer };
// A context with the rules that hold for all of our connections.
SslContextPointer NewTlsContext(TlsSide side);

// Loads a certificate with its chain, and its key. kInvalid, naming the file, if they cannot be
// read or do not belong together.
Result<void> UseCertificate(SSL_CTX* context, const std::string& certificate_file,
                            const std::string& key_file);

// A text that changes when one of the files is written or replaced: inode, size and time of change
// of each. Names may be empty.
std::string FileStamps(std::initializer_list<const std::string*> files);

}  // namespace takt::internal
