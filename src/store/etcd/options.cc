#include "store/etcd/options.h"

#include <optional>
#include <utility>

#include "base/url.h"

namespace takt::internal {
namespace {

constexpr std::uint16_t kPortDefault = 2379;
constexpr std::string_view kPrefixDefault = "/takt";
constexpr std::uint64_t kQuotaMin = 1u << 20;
constexpr std::uint64_t kQuotaMax = 1ull << 50;
constexpr std::size_t kEndpointsMax = 16;  // etcd clusters have three to seven members.

Result<std::string> ParseEndpoint(std::string_view text) {
    const std::optional<HostPort> place = ParseHostPort(text, kPortDefault);
    // Not quoted: what stands here by mistake may be a password.
    if (!place || place->host.empty()) {
        return BadStoreUrl("a host is written as host:port, 10.0.0.5:2379 or [::1]:2379");
    }
    return Show(*place);
}

// "team/takt/", from the path or the parameter, is "/team/takt". Nothing if it says nothing.
std::string PrefixOf(std::string_view text) {
    while (text.ends_with('/')) text.remove_suffix(1);
    if (text.empty()) return {};
    return (text.starts_with('/') ? "" : "/") + std::string(text);
}

Result<void> ParseParameters(std::string_view query, EtcdOptions& options) {
    std::string prefix;
    std::vector<UrlParameter> table = {
        {"prefix", TextTo{&prefix}},
        {"timeout", DurationTo{&options.timeout, Duration(100), Duration(60'000)}},
        {"compact", SwitchTo{&options.compact}},
        {"quota", NumberTo{&options.quota, kQuotaMin, kQuotaMax}},
    };
    AddTlsParameters(options.tls, table);
    if (Result<void> read = ReadUrlParameters(query, table); !read) return read;
    prefix = PrefixOf(prefix);
    if (!prefix.empty() && !options.prefix.empty() && prefix != options.prefix) {
        return BadStoreUrl("the path and prefix= name two prefixes; leave one of them out");
    }
    if (!prefix.empty()) options.prefix = std::move(prefix);
    if (options.prefix.empty()) options.prefix = kPrefixDefault;
    return SettleTls(options.tls);
}

Result<void> ParseUser(std::string_view text, EtcdOptions& options) {
    const std::optional<std::string> user = UnescapeUrl(CutAt(text, ':'));
    const std::optional<std::string> password = UnescapeUrl(text);
    if (!user || !password || user->empty()) return BadStoreUrl("user:password is not readable");
    options.user = *user;
    options.password = *password;
    return {};
}

}  // namespace

Result<EtcdOptions> ParseEtcdUrl(std::string_view url) {
    const Result<UrlParts> parts = SplitUrl(url);
    if (!parts) return BadStoreUrl(parts.error().detail);
    if (parts->scheme != "etcd") return BadStoreUrl("it must start with etcd://");
    EtcdOptions options;
    const std::optional<std::string> prefix = UnescapeUrl(parts->path);
    if (!prefix) return BadStoreUrl("the prefix is not percent-encoded as it should be");
    options.prefix = PrefixOf("/" + *prefix);
    if (parts->credentials) {
        if (Result<void> user = ParseUser(*parts->credentials, options); !user) {
            return std::unexpected(user.error());
        }
    }
    std::string_view authority = parts->hosts;
    if (authority.empty()) return BadStoreUrl("a host is missing; write etcd://127.0.0.1:2379");
    while (!authority.empty()) {
        Result<std::string> endpoint = ParseEndpoint(CutAt(authority, ','));
        if (!endpoint) return std::unexpected(endpoint.error());
        options.endpoints.push_back(std::move(*endpoint));
        if (options.endpoints.size() > kEndpointsMax) return BadStoreUrl("more than 16 hosts");
    }
    if (Result<void> parsed = ParseParameters(parts->query, options); !parsed) {
        return std::unexpected(parsed.error());
    }
    return options;
}

}  // namespace takt::internal
