// The URLs we call: http and https (ws and wss mean the same), nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace takt::internal {

struct Url {
    bool tls = false;
    std::string host;  // A name in lower case or an IP address, IPv6 without brackets.
    std::uint16_t port = 80;
    std::string target = "/";  // Path and query.

    // What the Host header says: with brackets for IPv6, with the port unless it is the default.
    std::string Authority() const;
    // One text per server, for pooling.
    std::string Origin() const;
};

// kInvalid for other schemes, user names and passwords, fragments, spaces and control characters.
Result<Url> ParseUrl(std::string_view text);

}  // namespace takt::internal
