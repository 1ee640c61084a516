// URLs: those that name a store's server, cut into parts without ever taking a piece of a password
// for another part, which errors and descriptions may show; and those that we call over HTTP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace takt::internal {

// scheme://[credentials@]hosts[/path][?query], as written: nothing is decoded.
struct UrlParts {
    std::string_view scheme;
    std::optional<std::string_view> credentials;  // "user:password"
    std::string_view hosts;
    std::string_view path;   // What follows the slash.
    std::string_view query;  // What follows the question mark.
};

// The last @ ends the credentials, so that one in a password does no harm. kInvalid, with a
// sentence that quotes nothing, if there is no scheme, or if a / or ? is before that @: a password
// was not encoded, or a parameter was not, and a guess could show a password as the name of a host.
Result<UrlParts> SplitUrl(std::string_view url);

// Nothing if a % is not followed by two hexadecimal digits.
std::optional<std::string> UnescapeUrl(std::string_view text);

// Cuts `text` at the first `separator`: what is before is returned, `text` keeps what is after. All
// of it is returned if there is none.
std::string_view CutAt(std::string_view& text, char separator);

struct HostPort {
    std::string host;  // An IPv6 address without its brackets. May be empty.
    std::uint16_t port = 0;
};
std::string Show(const HostPort& place);  // "10.0.0.5:6379", "[::1]:6379"

// "host", "host:port", "[::1]" or "[::1]:port". Nothing if it is none of them.
std::optional<HostPort> ParseHostPort(std::string_view text, std::uint16_t port_default);

// A URL that we call: http and https (ws and wss mean the same), nothing else.
struct Url {
    bool tls = false;
    std::string host;  // A name in lower case or an IP address, IPv6 without brackets.
    std::uint16_t port = 80;
    std::string target = "/";  // Path and query.

    // The value of the Host header: with brackets for IPv6, with the port unless it is the default.
    std::string Authority() const;
    // One text per server, for pooling.
    std::string Origin() const;
};

// kInvalid for other schemes, user names and passwords, fragments, spaces and control characters.
Result<Url> ParseUrl(std::string_view text);

}  // namespace takt::internal
