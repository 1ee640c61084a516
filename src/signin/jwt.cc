#include "signin/jwt.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <optional>

#include "base/base64.h"
#include "base/json.h"

namespace takt::internal {
namespace {

namespace json = boost::json;

constexpr std::size_t kJwtBytesMax = 64 << 10;
constexpr int kRsaBitsMin = 2048;
constexpr std::size_t kP256Bytes = 32;

template <typename T, void (*free)(T*)>
struct Freed {
    void operator()(T* what) const { free(what); }
};
template <typename T, void (*free)(T*)>
using Owned = std::unique_ptr<T, Freed<T, free>>;
using Number = Owned<BIGNUM, BN_free>;
using Builder = Owned<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free>;
using Parameters = Owned<OSSL_PARAM, OSSL_PARAM_free>;
using KeyMaker = Owned<EVP_PKEY_CTX, EVP_PKEY_CTX_free>;
using Digest = Owned<EVP_MD_CTX, EVP_MD_CTX_free>;
using Signature = Owned<ECDSA_SIG, ECDSA_SIG_free>;

std::unexpected<Error> NoJwt(std::string why) {
    return Fail(ErrorCode::kInvalid, "the id token " + why);
}

std::string TextOf(const json::object& object, std::string_view name) {
    const json::value* value = object.if_contains(name);
    return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

const unsigned char* Bytes(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

Number NumberOf(std::string_view bytes) {
    return Number(BN_bin2bn(Bytes(bytes), static_cast<int>(bytes.size()), nullptr));
}

// Null if the parts make no key of that kind.
std::shared_ptr<EVP_PKEY> MakeKey(const char* kind, OSSL_PARAM_BLD* parts) {
    const Parameters parameters(OSSL_PARAM_BLD_to_param(parts));
    const KeyMaker maker(EVP_PKEY_CTX_new_from_name(nullptr, kind, nullptr));
    EVP_PKEY* key = nullptr;
    if (!parameters || !maker || EVP_PKEY_fromdata_init(maker.get()) != 1 ||
        EVP_PKEY_fromdata(maker.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1) {
        return nullptr;
    }
    return {key, EVP_PKEY_free};
}

std::shared_ptr<EVP_PKEY> RsaKey(const json::object& jwk) {
    const auto modulus = DecodeBase64Url(TextOf(jwk, "n"));
    const auto exponent = DecodeBase64Url(TextOf(jwk, "e"));
    if (!modulus || !exponent) return nullptr;
    const Builder parts(OSSL_PARAM_BLD_new());
    const Number n = NumberOf(*modulus);
    const Number e = NumberOf(*exponent);
    if (BN_num_bits(n.get()) < kRsaBitsMin) return nullptr;
    OSSL_PARAM_BLD_push_BN(parts.get(), OSSL_PKEY_PARAM_RSA_N, n.get());
    OSSL_PARAM_BLD_push_BN(parts.get(), OSSL_PKEY_PARAM_RSA_E, e.get());
    return MakeKey("RSA", parts.get());
}

std::shared_ptr<EVP_PKEY> CurveKey(const json::object& jwk) {
    const auto x = DecodeBase64Url(TextOf(jwk, "x"));
    const auto y = DecodeBase64Url(TextOf(jwk, "y"));
    if (!x || !y || x->size() != kP256Bytes || y->size() != kP256Bytes) return nullptr;
    const std::string point = "\x04" + *x + *y;
    const Builder parts(OSSL_PARAM_BLD_new());
    OSSL_PARAM_BLD_push_utf8_string(parts.get(), OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0);
    OSSL_PARAM_BLD_push_octet_string(parts.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                     point.size());
    return MakeKey("EC", parts.get());
}

struct Parts {
    json::object head;
    std::string_view signed_text;
    std::string claims;
    std::string signature;
};

Result<Parts> Split(std::string_view token) {
    if (token.size() > kJwtBytesMax) return NoJwt("is too long");
    const std::size_t first = token.find('.');
    const std::size_t last = token.rfind('.');
    if (first == token.npos || first == last || token.find('.', first + 1) != last) {
        return NoJwt("does not have three parts");
    }
    const auto head = DecodeBase64Url(token.substr(0, first));
    auto claims = DecodeBase64Url(token.substr(first + 1, last - first - 1));
    auto signature = DecodeBase64Url(token.substr(last + 1));
    if (!head || !claims || !signature) return NoJwt("is not in base64");
    const auto value = ParseJson(*head);
    if (!value || !value->is_object()) return NoJwt("has no head");
    return Parts{value->get_object(), token.substr(0, last), std::move(*claims),
                 std::move(*signature)};
}

// ECDSA in tokens is two numbers of 32 bytes; OpenSSL wants them in DER.
std::optional<std::string> DerOf(std::string_view signature) {
    if (signature.size() != 2 * kP256Bytes) return std::nullopt;
    const Signature both(ECDSA_SIG_new());
    Number r = NumberOf(signature.substr(0, kP256Bytes));
    Number s = NumberOf(signature.substr(kP256Bytes));
    if (!both || ECDSA_SIG_set0(both.get(), r.get(), s.get()) != 1) return std::nullopt;
    static_cast<void>(r.release());  // They are the signature's now.
    static_cast<void>(s.release());
    unsigned char* der = nullptr;
    const int size = i2d_ECDSA_SIG(both.get(), &der);
    if (size <= 0) return std::nullopt;
    std::string text(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
    OPENSSL_free(der);
    return text;
}

bool IsSignedBy(EVP_PKEY& key, std::string_view text, std::string_view signature) {
    const Digest digest(EVP_MD_CTX_new());
    return digest &&
           EVP_DigestVerifyInit(digest.get(), nullptr, EVP_sha256(), nullptr, &key) == 1 &&
           EVP_DigestVerify(digest.get(), Bytes(signature), signature.size(), Bytes(text),
                            text.size()) == 1;
}

}  // namespace

Result<KeySet> KeySet::Parse(std::string_view text) {
    const auto value = ParseJson(text);
    const json::value* keys =
        value && value->is_object() ? value->get_object().if_contains("keys") : nullptr;
    if (!keys || !keys->is_array()) return Fail(ErrorCode::kInvalid, "is no key set");
    KeySet set;
    for (const json::value& one : keys->get_array()) {
        if (!one.is_object()) continue;
        const json::object& jwk = one.get_object();
        const std::string use = TextOf(jwk, "use");
        if (!use.empty() && use != "sig") continue;
        const std::string kind = TextOf(jwk, "kty");
        Key key;
        if (kind == "RSA") {
            key = {"RS256", RsaKey(jwk)};
        } else if (kind == "EC" && TextOf(jwk, "crv") == "P-256") {
            key = {"ES256", CurveKey(jwk)};
        }
        const std::string said = TextOf(jwk, "alg");
        if (key.key && (said.empty() || said == key.algorithm)) {
            set.keys_.insert_or_assign(TextOf(jwk, "kid"), std::move(key));
        }
    }
    if (set.empty()) return Fail(ErrorCode::kInvalid, "has no key for RS256 or ES256");
    return set;
}

Result<std::string> KeyOfJwt(std::string_view token) {
    const auto parts = Split(token);
    if (!parts) return std::unexpected(parts.error());
    return TextOf(parts->head, "kid");
}

Result<json::object> ReadJwt(std::string_view token, const KeySet& keys) {
    auto parts = Split(token);
    if (!parts) return std::unexpected(parts.error());
    const auto found = keys.keys_.find(TextOf(parts->head, "kid"));
    if (found == keys.keys_.end())
        return NoJwt("is signed with a key that the provider does not have");
    const KeySet::Key& key = found->second;
    const std::string algorithm = TextOf(parts->head, "alg");
    if (algorithm != key.algorithm) {
        return NoJwt("is signed by '" + algorithm.substr(0, 20) + "', and its key is for " +
                     key.algorithm);
    }
    if (parts->head.contains("crit")) return NoJwt("wants something that is not known here (crit)");
    std::optional<std::string> signature = parts->signature;
    if (algorithm == "ES256") signature = DerOf(*signature);
    if (!signature || !IsSignedBy(*key.key, parts->signed_text, *signature)) {
        return NoJwt("has a wrong signature");
    }
    auto claims = ParseJson(parts->claims);
    if (!claims || !claims->is_object()) return NoJwt("claims nothing");
    return std::move(claims->get_object());
}

}  // namespace takt::internal
