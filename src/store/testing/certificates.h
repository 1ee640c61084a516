// Certificates for a test's server and its clients.
#pragma once

#include <string>

#include "base/error.h"
#include "store/testing/server_process.h"

namespace takt::internal {

// Makes in `directory`: ca.pem, an authority; server.pem and client.pem with their .key, signed by
// it, for `names`; foreign.pem, an authority that signed nothing. kUnknown if openssl fails.
Result<void> MakeCertificates(const TempDirectory& directory,
                              const std::string& names = "IP:127.0.0.1");

}  // namespace takt::internal
