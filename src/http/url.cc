#include "http/url.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "http/address.h"
#include "http/message.h"

namespace takt::internal {
namespace {

std::unexpected<Error> Bad(std::string_view why) {
    return Fail(ErrorCode::kInvalid, "URL " + std::string(why), "url");
}

std::optional<bool> TakeScheme(std::string_view& text) {
    const std::size_t end = text.find("://");
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view scheme = text.substr(0, end);
    const bool plain = EqualsIgnoringCase(scheme, "http") || EqualsIgnoringCase(scheme, "ws");
    const bool tls = EqualsIgnoringCase(scheme, "https") || EqualsIgnoringCase(scheme, "wss");
    if (!plain && !tls) return std::nullopt;
    text.remove_prefix(end + 3);
    return tls;
}

bool IsHostName(std::string_view host) {
    const auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
    };
    return !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), allowed);
}

// A name whose last label is a number is an address in a spelling that resolvers read differently
// (0x7f.1, 017700000001): refused, so that what is checked is what is reached.
bool LooksLikeAddress(std::string_view host) {
    const std::size_t dot = host.rfind('.');
    const std::string_view last = dot == std::string_view::npos ? host : host.substr(dot + 1);
    return last.empty()
               ? false
               : last.starts_with("0x") || std::all_of(last.begin(), last.end(),
                                                       [](char c) { return c >= '0' && c <= '9'; });
}

Result<void> ParseAuthority(std::string_view authority, Url& url) {
    std::string_view port;
    if (authority.starts_with('[')) {
        const std::size_t end = authority.find(']');
        if (end == std::string_view::npos) return Bad("has an unfinished IPv6 address");
        url.host = authority.substr(1, end - 1);
        port = authority.substr(end + 1);
        if (url.host.find(':') == std::string::npos || !ParseIpAddress(url.host)) {
            return Bad("has a broken IPv6 address");
        }
    } else {
        const std::size_t colon = authority.find(':');
        url.host = authority.substr(0, colon);
        port = colon == std::string_view::npos ? "" : authority.substr(colon);
        std::transform(url.host.begin(), url.host.end(), url.host.begin(),
                       [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
        if (!IsHostName(url.host)) return Bad("has no valid host");
        if (LooksLikeAddress(url.host) && !ParseIpAddress(url.host)) {
            return Bad("has a host that is neither a name nor an IP address");
        }
    }
    url.port = url.tls ? 443 : 80;
    if (port.empty()) return {};
    const auto [end, error] = std::from_chars(port.data() + 1, port.data() + port.size(), url.port);
    if (port[0] != ':' || error != std::errc() || end != port.data() + port.size() ||
        url.port == 0) {
        return Bad("has a broken port");
    }
    return {};
}

}  // namespace

Result<Url> ParseUrl(std::string_view text) {
    if (text.size() > 8192) return Bad("is longer than 8192 characters");
    if (std::any_of(text.begin(), text.end(), [](char c) {
            const auto byte = static_cast<unsigned char>(c);
            return byte <= 0x20 || byte >= 0x7f || c == '\\' || c == '"' || c == '<' || c == '>';
        })) {
        return Bad("has a character that must be percent-encoded");
    }
    Url url;
    const auto tls = TakeScheme(text);
    if (!tls) return Bad("must start with http:// or https://");
    url.tls = *tls;
    const std::size_t end = std::min(text.find_first_of("/?#"), text.size());
    const std::string_view authority = text.substr(0, end);
    if (authority.find('@') != std::string_view::npos) {
        return Bad("must not contain a user name or password");
    }
    if (text.find('#') != std::string_view::npos) return Bad("must not have a fragment");
    if (const auto parsed = ParseAuthority(authority, url); !parsed) {
        return std::unexpected(parsed.error());
    }
    url.target = text.substr(end);
    if (!url.target.starts_with('/')) url.target.insert(0, "/");
    return url;
}

std::string Url::Authority() const {
    std::string text = host.find(':') == std::string::npos ? host : "[" + host + "]";
    if (port != (tls ? 443 : 80)) text += ":" + std::to_string(port);
    return text;
}

std::string Url::Origin() const {
    return (tls ? "https://" : "http://") + Authority();
}

}  // namespace takt::internal
