#include "signin/seal.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <charconv>

#include "base/base64.h"
#include "base/check.h"

namespace takt::internal {

Seal::Seal(std::string_view key) : key_(key) {
    TAKT_CHECK(key_.size() >= kKeyBytesMin);
}

std::string Seal::Sign(std::string_view what) const {
    std::string signature(EVP_MAX_MD_SIZE, '\0');
    unsigned size = 0;
    const auto* bytes = reinterpret_cast<const unsigned char*>(what.data());
    TAKT_CHECK(HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()), bytes, what.size(),
                    reinterpret_cast<unsigned char*>(signature.data()), &size));
    signature.resize(size);
    return signature;
}

// purpose.milliseconds.text.signature, the last two in base64.
std::string Seal::Close(std::string_view purpose, std::string_view text, Time until) const {
    std::string sealed(purpose);
    sealed += '.' + std::to_string(until.time_since_epoch().count()) + '.' + Base64Url(text);
    const std::string signature = Sign(sealed);
    return sealed + '.' + Base64Url(signature);
}

std::optional<Seal::Opened> Seal::Open(std::string_view purpose, std::string_view sealed,
                                       Time now) const {
    const std::size_t last = sealed.rfind('.');
    if (last == sealed.npos) return std::nullopt;
    const auto signature = DecodeBase64Url(sealed.substr(last + 1));
    std::string_view rest = sealed.substr(0, last);
    const std::string right = Sign(rest);
    if (!signature || signature->size() != right.size() ||
        CRYPTO_memcmp(signature->data(), right.data(), right.size()) != 0) {
        return std::nullopt;
    }
    // From here on it is what Close wrote.
    if (!rest.starts_with(purpose) || rest.substr(purpose.size(), 1) != ".") return std::nullopt;
    rest.remove_prefix(purpose.size() + 1);
    const std::size_t dot = rest.find('.');
    Duration::rep until = 0;
    std::from_chars(rest.data(), rest.data() + dot, until);
    auto text = DecodeBase64Url(rest.substr(dot + 1));
    if (!text || Time(Duration(until)) <= now) return std::nullopt;
    return Opened{std::move(*text), Time(Duration(until))};
}

}  // namespace takt::internal
