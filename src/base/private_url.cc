#include "base/private_url.h"

#include "base/url.h"

namespace takt::internal {

bool IsPrivateUrl(std::string_view url) {
    // Cut as it is when it is called: 'http://localhost:1@elsewhere' is not on this machine.
    if (!url.starts_with("http")) return false;
    const auto parts = ParseUrl(url);
    return parts && (parts->tls || parts->host == "localhost" || parts->host == "127.0.0.1" ||
                     parts->host == "::1");
}

}  // namespace takt::internal
