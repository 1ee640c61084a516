#include "base/sha256.h"

#include <openssl/evp.h>

#include "base/check.h"

namespace takt::internal {

Sha256 Sha256Of(std::string_view text) {
    Sha256 hash{};
    unsigned size = 0;
    TAKT_CHECK(EVP_Digest(text.data(), text.size(), hash.data(), &size, EVP_sha256(), nullptr) ==
                   1 &&
               size == hash.size());
    return hash;
}

}  // namespace takt::internal
