// Base64 in the alphabet for URLs, without padding, as JSON Web Tokens and PKCE use it (RFC 4648, 5).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace takt::internal {

std::string Base64Url(std::string_view bytes);
// Nothing for anything else, padding and bits that say nothing included.
std::optional<std::string> DecodeBase64Url(std::string_view text);

}  // namespace takt::internal
