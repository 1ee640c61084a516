#include "base/url.h"

#include <algorithm>
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

}  // namespace takt::internal
