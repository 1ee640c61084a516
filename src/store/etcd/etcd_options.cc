#include "store/etcd/etcd_options.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace takt::internal {
namespace {

constexpr std::string_view kScheme = "etcd://";
constexpr std::string_view kPortDefault = "2379";
constexpr std::size_t kEndpointsMax = 16;  // etcd clusters have three to seven members.

std::unexpected<Error> Wrong(std::string detail) {
    return Fail(ErrorCode::kInvalid, "the etcd URL: " + std::move(detail), "store");
}

std::optional<std::string> Decode(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        unsigned value = 0;
        if (i + 2 >= text.size()) return std::nullopt;
        const char* begin = text.data() + i + 1;
        const auto [end, error] = std::from_chars(begin, begin + 2, value, 16);
        if (error != std::errc() || end != begin + 2) return std::nullopt;
        out += static_cast<char>(value);
        i += 2;
    }
    return out;
}

// Cuts `text` at the first `separator` and returns what was before it; all of it if there is none.
std::string_view Cut(std::string_view& text, char separator) {
    const std::size_t at = text.find(separator);
    const std::string_view head = text.substr(0, at);
    text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
    return head;
}

Result<std::string> ParseEndpoint(std::string_view text) {
    // The colons of an IPv6 address stand inside brackets.
    const std::size_t bracket = text.rfind(']');
    const std::size_t colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
    const std::string_view host = text.substr(0, colon);
    const std::string_view port =
        colon == std::string_view::npos ? kPortDefault : text.substr(colon + 1);
    unsigned number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (host.empty() || error != std::errc() || end != port.data() + port.size() || number == 0 ||
        number > 65535) {
        return Wrong("'" + std::string(text) + "' is not host:port");
    }
    const bool plain = std::ranges::all_of(host, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '-' || c == '_' || c == ':' || c == '[' || c == ']';
    });
    if (!plain) return Wrong("'" + std::string(host) + "' is not the name of a host");
    return std::string(host) + ":" + std::string(port);
}

Result<void> ParseFlag(std::string_view name, std::string_view value, bool& flag) {
    if (value != "0" && value != "1") return Wrong(std::string(name) + " must be 0 or 1");
    flag = value == "1";
    return {};
}

Result<void> ParseTimeout(std::string_view value, Duration& timeout) {
    const Result<Duration> parsed = ParseDuration(value);
    if (!parsed || *parsed < Duration(100) || *parsed > Duration(60'000)) {
        return Wrong("timeout must be a duration from 100ms to 60s");
    }
    timeout = *parsed;
    return {};
}

Result<void> ParseParameter(std::string_view name, std::string value, EtcdOptions& options) {
    if (name == "tls") return ParseFlag(name, value, options.tls);
    if (name == "compact") return ParseFlag(name, value, options.compact);
    if (name == "timeout") return ParseTimeout(value, options.timeout);
    if (name == "ca")
        options.ca_file = std::move(value);
    else if (name == "cert")
        options.cert_file = std::move(value);
    else if (name == "key")
        options.key_file = std::move(value);
    else
        return Wrong("there is no parameter '" + std::string(name) + "'");
    return {};
}

Result<void> ParseQuery(std::string_view query, EtcdOptions& options) {
    while (!query.empty()) {
        std::string_view value = Cut(query, '&');
        const std::string_view name = Cut(value, '=');
        std::optional<std::string> decoded = Decode(value);
        if (!decoded) return Wrong(std::string(name) + " is not percent-encoded as it should be");
        if (Result<void> parsed = ParseParameter(name, std::move(*decoded), options); !parsed) {
            return parsed;
        }
    }
    const bool files =
        !options.ca_file.empty() || !options.cert_file.empty() || !options.key_file.empty();
    options.tls = options.tls || files;
    if (options.cert_file.empty() != options.key_file.empty()) {
        return Wrong("cert and key go together");
    }
    return {};
}

Result<void> ParseUser(std::string_view text, EtcdOptions& options) {
    const std::optional<std::string> user = Decode(Cut(text, ':'));
    const std::optional<std::string> password = Decode(text);
    if (!user || !password || user->empty()) return Wrong("user:password is not readable");
    options.user = *user;
    options.password = *password;
    return {};
}

}  // namespace

Result<EtcdOptions> ParseEtcdUrl(std::string_view url) {
    if (!url.starts_with(kScheme)) return Wrong("it must start with etcd://");
    std::string_view query = url.substr(kScheme.size());
    std::string_view authority = Cut(query, '?');
    EtcdOptions options;

    const std::size_t slash = authority.find('/');
    if (slash != std::string_view::npos) {
        std::optional<std::string> prefix = Decode(authority.substr(slash));
        if (!prefix) return Wrong("the prefix is not percent-encoded as it should be");
        while (prefix->ends_with('/')) prefix->pop_back();
        if (!prefix->empty()) options.prefix = std::move(*prefix);
        authority = authority.substr(0, slash);
    }
    if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
        if (Result<void> user = ParseUser(authority.substr(0, at), options); !user) {
            return std::unexpected(user.error());
        }
        authority = authority.substr(at + 1);
    }
    if (authority.empty()) return Wrong("a host is missing; write etcd://127.0.0.1:2379");
    while (!authority.empty()) {
        Result<std::string> endpoint = ParseEndpoint(Cut(authority, ','));
        if (!endpoint) return std::unexpected(endpoint.error());
        options.endpoints.push_back(std::move(*endpoint));
        if (options.endpoints.size() > kEndpointsMax) return Wrong("more than 16 hosts");
    }
    if (Result<void> parsed = ParseQuery(query, options); !parsed) {
        return std::unexpected(parsed.error());
    }
    return options;
}

}  // namespace takt::internal
