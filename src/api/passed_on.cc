#include "api/passed_on.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "api/access.h"
#include "base/check.h"

namespace takt::internal {
namespace {

std::string SignatureOf(const LeaderRow& leader, std::string_view claim,
                        const HttpRequest& request) {
    const std::string key = "takt passed on " + std::to_string(leader.partition) + " " +
                            std::to_string(leader.epoch) + " " + std::to_string(leader.nonce);
    // None of them can have a line break.
    std::string text(claim);
    for (const std::string_view part :
         {std::string_view(request.request_id), Name(request.method),
          std::string_view(request.raw_path), std::string_view(request.raw_query)}) {
        text += "\n";
        text += part;
    }
    Sha256 hash{};
    unsigned size = 0;
    TAKT_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                    reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data(),
                    &size) != nullptr &&
               size == hash.size());
    return HexText({reinterpret_cast<const char*>(hash.data()), hash.size()});
}

}  // namespace

std::string ForwardedBy(const NodeStatus& status, const HttpRequest& request) {
    std::string claim = status.node.text().str() + " " + request.remote_address;
    const std::string signature = SignatureOf(*status.leader, claim, request);
    return std::move(claim) + " " + signature;
}

std::optional<PassedFor> ReadForwarded(const NodeStatus& status, const HttpRequest& request) {
    const auto header = request.headers.Find(kForwarded);
    // A nonce of 0 is a term that was given up, and no secret.
    if (!header || !status.leader || status.leader->nonce == 0) return std::nullopt;
    const std::size_t end = header->rfind(' ');
    const std::size_t middle = header->find(' ');
    if (end == header->npos || middle >= end) return std::nullopt;
    const std::string_view claim = header->substr(0, end);
    const std::string_view signature = header->substr(end + 1);
    const std::string right = SignatureOf(*status.leader, claim, request);
    if (signature.size() != right.size() ||
        CRYPTO_memcmp(signature.data(), right.data(), right.size()) != 0) {
        return std::nullopt;
    }
    return PassedFor{std::string(claim.substr(0, middle)), std::string(claim.substr(middle + 1))};
}

}  // namespace takt::internal
