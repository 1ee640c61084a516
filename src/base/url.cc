#include "base/url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/number.h"

namespace takt::internal {
namespace {

bool IsHost(std::string_view text) {
    return std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '-' || c == '_' || c == ':' || c == '%';
    });
}

std::unexpected<Error> BadUrl(std::string_view why) {
    return Fail(ErrorCode::kInvalid, "URL " + std::string(why), "url");
}

std::string LowerCase(std::string_view text) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
    return lower;
}

bool IsAddress(int family, const std::string& text) {
    std::array<unsigned char, sizeof(in6_addr)> bytes{};
    return inet_pton(family, text.c_str(), bytes.data()) == 1;
}

bool IsHostName(std::string_view host) {
    return !host.empty() && host.size() <= 253 &&
           host.find_first_of(":%") == std::string_view::npos;
}

// A name whose last label is a number is an address in a spelling that resolvers read differently
// (0x7f.1, 017700000001): refused, so that what is checked is what is reached.
bool LooksLikeAddress(std::string_view host) {
    const std::string_view last = host.substr(host.rfind('.') + 1);
    return last.starts_with("0x") || (!last.empty() && std::ranges::all_of(last, [](char c) {
               return c >= '0' && c <= '9';
           }));
}

bool MustBeEncoded(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= 0x20 || byte >= 0x7f || c == '\\' || c == '"' || c == '<' || c == '>';
}

Result<void> ReadAuthority(std::string_view authority, Url& url) {
    if (authority.find('@') != std::string_view::npos) {
        return BadUrl("must not contain a user name or password");
    }
    std::optional<HostPort> place = ParseHostPort(authority, url.tls ? 443 : 80);
    if (!place) return BadUrl("has no valid host and port");
    url.host = LowerCase(place->host);
    url.port = place->port;
    if (authority.starts_with('[')) {
        if (!IsAddress(AF_INET6, url.host)) return BadUrl("has a broken IPv6 address");
        return {};
    }
    if (!IsHostName(url.host)) return BadUrl("has no valid host");
    if (LooksLikeAddress(url.host) && !IsAddress(AF_INET, url.host)) {
        return BadUrl("has a host that is neither a name nor an IP address");
    }
    return {};
}

}  // namespace

Result<UrlParts> SplitUrl(std::string_view url) {
    UrlParts parts;
    const std::size_t scheme = url.find("://");
    if (scheme == std::string_view::npos) {
        return Fail(ErrorCode::kInvalid, "it has no scheme://");
    }
    parts.scheme = url.substr(0, scheme);
    std::string_view rest = url.substr(scheme + 3);
    if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
        parts.credentials = rest.substr(0, at);
        rest.remove_prefix(at + 1);
        if (parts.credentials->find_first_of("/?") != std::string_view::npos) {
            return Fail(ErrorCode::kInvalid,
                        "write each / ? and @ that belongs to a user's name, a password or a "
                        "parameter as %2F, %3F and %40");
        }
    }
    parts.path = CutAt(rest, '?');
    parts.query = rest;
    parts.hosts = CutAt(parts.path, '/');
    return parts;
}

std::optional<std::string> UnescapeUrl(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        std::uint8_t byte = 0;
        if (i + 2 >= text.size()) return std::nullopt;
        const char* digits = text.data() + i + 1;
        if (std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) return std::nullopt;
        out += static_cast<char>(byte);
        i += 2;
    }
    return out;
}

std::string_view CutAt(std::string_view& text, char separator) {
    const std::size_t at = text.find(separator);
    const std::string_view first = text.substr(0, at);
    text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
    return first;
}

std::string Show(const HostPort& place) {
    const bool v6 = place.host.find(':') != std::string::npos;
    return (v6 ? "[" + place.host + "]" : place.host) + ":" + std::to_string(place.port);
}

std::optional<HostPort> ParseHostPort(std::string_view text, std::uint16_t port_default) {
    HostPort place{{}, port_default};
    std::string_view port;
    bool has_port = false;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos) return std::nullopt;
        place.host = std::string(text.substr(1, end - 1));
        const std::string_view rest = text.substr(end + 1);
        has_port = !rest.empty();
        if (has_port && rest[0] != ':') return std::nullopt;
        port = has_port ? rest.substr(1) : rest;
    } else {
        has_port = text.find(':') != std::string_view::npos;
        place.host = std::string(CutAt(text, ':'));
        port = text;
    }
    if (!IsHost(place.host)) return std::nullopt;
    if (!has_port) return place;
    const auto number = ParseNumber<std::uint16_t>(port);
    if (!number || *number == 0) return std::nullopt;
    place.port = *number;
    return place;
}

Result<Url> ParseUrl(std::string_view text) {
    if (text.size() > 8192) return BadUrl("is longer than 8192 characters");
    if (std::ranges::any_of(text, MustBeEncoded)) {
        return BadUrl("has a character that must be percent-encoded");
    }
    const std::size_t colon = text.find("://");
    const std::string scheme = LowerCase(text.substr(0, colon));
    Url url{.tls = scheme == "https" || scheme == "wss"};
    if (colon == std::string_view::npos || (!url.tls && scheme != "http" && scheme != "ws")) {
        return BadUrl("must start with http:// or https://");
    }
    if (text.find('#') != std::string_view::npos) return BadUrl("must not have a fragment");
    text.remove_prefix(colon + 3);
    const std::size_t end = std::min(text.find_first_of("/?"), text.size());
    if (const Result<void> read = ReadAuthority(text.substr(0, end), url); !read) {
        return std::unexpected(read.error());
    }
    url.target = text.substr(end);
    if (!url.target.starts_with('/')) url.target.insert(0, "/");
    return url;
}

std::string Url::Authority() const {
    if (port != (tls ? 443 : 80)) return Show(HostPort{host, port});
    return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

std::string Url::Origin() const {
    return (tls ? "https://" : "http://") + Authority();
}

}  // namespace takt::internal
