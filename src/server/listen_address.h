// Where to listen, as configuration spells it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace takt::internal {

struct ListenAddress {
    std::string host;
    std::uint16_t port = 0;
};

// "127.0.0.1:8080", "[::1]:8080", ":8080" (every address), "8080" (loopback). kInvalid, naming
// `field`, otherwise.
Result<ListenAddress> ParseListenAddress(std::string_view text, std::string_view field);

// "127.0.0.1:8080", "[::1]:8080".
std::string Joined(std::string_view host, std::uint16_t port);

}  // namespace takt::internal
