#include "store/etcd/etcd_options.h"

#include <optional>

#include "base/url.h"

namespace takt::internal {
namespace {

constexpr std::uint16_t kPortDefault = 2379;
constexpr std::size_t kEndpointsMax = 16;  // etcd clusters have three to seven members.

std::unexpected<Error> Wrong(std::string detail) {
    return Fail(ErrorCode::kInvalid, "the etcd URL: " + std::move(detail), "store");
}

Result<std::string> ParseEndpoint(std::string_view text) {
    const std::optional<HostPort> place = ParseHostPort(text, kPortDefault);
    // Not quoted: what stands here by mistake may be a password.
    if (!place || place->host.empty()) {
        return Wrong("a host is written as host:port, 10.0.0.5:2379 or [::1]:2379");
    }
    return Show(*place);
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
        std::string_view value = CutAt(query, '&');
        const std::string_view name = CutAt(value, '=');
        std::optional<std::string> decoded = UnescapeUrl(value);
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
    const std::optional<std::string> user = UnescapeUrl(CutAt(text, ':'));
    const std::optional<std::string> password = UnescapeUrl(text);
    if (!user || !password || user->empty()) return Wrong("user:password is not readable");
    options.user = *user;
    options.password = *password;
    return {};
}

}  // namespace

Result<EtcdOptions> ParseEtcdUrl(std::string_view url) {
    const Result<UrlParts> parts = SplitUrl(url);
    if (!parts) return Wrong(parts.error().detail);
    if (parts->scheme != "etcd") return Wrong("it must start with etcd://");
    EtcdOptions options;
    std::optional<std::string> prefix = UnescapeUrl(parts->path);
    if (!prefix) return Wrong("the prefix is not percent-encoded as it should be");
    while (prefix->ends_with('/')) prefix->pop_back();
    if (!prefix->empty()) options.prefix = "/" + *prefix;
    if (parts->credentials) {
        if (Result<void> user = ParseUser(*parts->credentials, options); !user) {
            return std::unexpected(user.error());
        }
    }
    std::string_view authority = parts->hosts;
    if (authority.empty()) return Wrong("a host is missing; write etcd://127.0.0.1:2379");
    while (!authority.empty()) {
        Result<std::string> endpoint = ParseEndpoint(CutAt(authority, ','));
        if (!endpoint) return std::unexpected(endpoint.error());
        options.endpoints.push_back(std::move(*endpoint));
        if (options.endpoints.size() > kEndpointsMax) return Wrong("more than 16 hosts");
    }
    if (Result<void> parsed = ParseQuery(parts->query, options); !parsed) {
        return std::unexpected(parsed.error());
    }
    return options;
}

}  // namespace takt::internal
