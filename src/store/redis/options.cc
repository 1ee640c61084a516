#include "store/redis/options.h"

#include <fmt/format.h>

#include <optional>

#include "base/id.h"
#include "base/number.h"
#include "base/url.h"

namespace takt::internal::redis {
namespace {

constexpr std::size_t kUrlBytesMax = 4096;  // Longer ones are mistakes: a file pasted, a loop.
constexpr std::size_t kHostsMax = 64;
constexpr std::uint64_t kReplicasMax = 100;
constexpr std::uint16_t kPortDefault = 6379;
constexpr std::uint16_t kSentinelPortDefault = 26379;

Result<void> ParseHosts(std::string_view text, RedisOptions& options) {
    const std::uint16_t port =
        options.deployment == Deployment::kSentinel ? kSentinelPortDefault : kPortDefault;
    do {
        std::optional<HostPort> place = ParseHostPort(CutAt(text, ','), port);
        // Not quoted: what stands here by mistake may be a password.
        if (!place) return BadStoreUrl("a host is written name:port or [::1]:port");
        if (place->host.empty()) place->host = "127.0.0.1";
        options.hosts.push_back({std::move(place->host), place->port});
        if (options.hosts.size() > kHostsMax) return BadStoreUrl("too many hosts");
    } while (!text.empty());
    return {};
}

Result<void> ParseCredentials(std::string_view text, Credentials& credentials) {
    // "redis://secret@host", as some clients write it, is refused: there the secret would be taken
    // for a user's name, and names may be shown.
    if (text.find(':') == std::string_view::npos) {
        return BadStoreUrl("credentials are written user:password@ or :password@");
    }
    const auto user = UnescapeUrl(CutAt(text, ':'));
    const auto password = UnescapeUrl(text);
    if (!user || !password)
        return BadStoreUrl("a % in the credentials is not followed by two digits");
    credentials = {*user, *password};
    return {};
}

Result<void> ParsePath(std::string_view path, RedisOptions& options) {
    if (options.deployment == Deployment::kSentinel) {
        options.master = std::string(CutAt(path, '/'));
        if (options.master.empty()) {
            return BadStoreUrl("redis+sentinel:// needs the primary's name, as in …/mymaster");
        }
    }
    if (path.empty()) return {};
    const auto database = ParseNumber<unsigned>(path);
    if (!database) return BadStoreUrl("the path must be the number of a database");
    options.database = *database;
    return {};
}

Result<void> ParseParameters(std::string_view query, RedisOptions& options) {
    bool cluster = false;
    std::vector<UrlParameter> table = {
        {"prefix", TextTo{&options.prefix}, "namespace"},
        {"timeout", DurationTo{&options.timeout}},
        {"connect_timeout", DurationTo{&options.connect_timeout}},
        {"wait", NumberTo{&options.wait_replicas, 0, kReplicasMax}},
        {"wait_timeout", DurationTo{&options.wait_timeout}},
        {"events_max", NumberTo{&options.events_max, 1}},
        {"publish", SwitchTo{&options.publish}},
        {"unsafe", SwitchTo{&options.unsafe}},
        {"cluster", SwitchTo{&cluster}},
        {"sentinel_user", TextTo{&options.sentinel_credentials.user}},
        {"sentinel_password", TextTo{&options.sentinel_credentials.password}},
    };
    AddTlsParameters(options.tls, table);
    if (Result<void> read = ReadUrlParameters(query, table); !read) return read;
    if (options.deployment == Deployment::kSingle && (cluster || options.hosts.size() > 1)) {
        options.deployment = Deployment::kCluster;
    }
    return SettleTls(options.tls);
}

Result<void> CheckTogether(const RedisOptions& options) {
    if (!IsValidId(options.prefix)) {
        return BadStoreUrl("prefix must be 1 to 64 characters of A-Z a-z 0-9 . _ ~ -");
    }
    if (options.deployment == Deployment::kCluster && options.database != 0) {
        return BadStoreUrl("Redis Cluster has database 0 only");
    }
    if (options.wait_replicas > 0 && options.wait_timeout >= options.timeout) {
        return BadStoreUrl("wait_timeout must be shorter than timeout");
    }
    return {};
}

}  // namespace

std::string Show(const Endpoint& endpoint) {
    return internal::Show(HostPort{endpoint.host, endpoint.port});
}

Result<RedisOptions> ParseRedisUrl(std::string_view url) {
    if (url.size() > kUrlBytesMax) return BadStoreUrl("too long");
    const Result<UrlParts> parts = SplitUrl(url);
    if (!parts) return BadStoreUrl(parts.error().detail);
    const std::string_view scheme = parts->scheme;

    RedisOptions options;
    const std::string_view kind = scheme.substr(0, scheme.find('+'));
    if (scheme == "redis+sentinel" || scheme == "rediss+sentinel") {
        options.deployment = Deployment::kSentinel;
    } else if (scheme != "redis" && scheme != "rediss") {
        return BadStoreUrl("the scheme is not redis, rediss, redis+sentinel or rediss+sentinel");
    }
    options.tls.enabled = kind == "rediss";

    if (parts->credentials) {
        const Result<void> read = ParseCredentials(*parts->credentials, options.credentials);
        if (!read) return std::unexpected(read.error());
    }
    if (Result<void> read = ParseHosts(parts->hosts, options); !read) {
        return std::unexpected(read.error());
    }
    if (Result<void> read = ParsePath(parts->path, options); !read) {
        return std::unexpected(read.error());
    }
    if (Result<void> read = ParseParameters(parts->query, options); !read) {
        return std::unexpected(read.error());
    }
    if (kind == "rediss" && !options.tls.enabled) return BadStoreUrl("rediss:// is TLS, not tls=0");
    if (Result<void> fit = CheckTogether(options); !fit) return std::unexpected(fit.error());
    return options;
}

std::string Describe(const RedisOptions& options) {
    std::string hosts;
    for (const Endpoint& endpoint : options.hosts) {
        if (!hosts.empty()) hosts += ',';
        hosts += Show(endpoint);
    }
    const std::string_view tls = options.tls.enabled ? " with TLS" : "";
    switch (options.deployment) {
        case Deployment::kSentinel:
            return fmt::format("redis {} by sentinel {}/{}{}, prefix {}", options.master, hosts,
                               options.database, tls, options.prefix);
        case Deployment::kCluster:
            return fmt::format("redis cluster {}{}, prefix {}", hosts, tls, options.prefix);
        case Deployment::kSingle:
            break;
    }
    return fmt::format("redis {}/{}{}, prefix {}", hosts, options.database, tls, options.prefix);
}

}  // namespace takt::internal::redis
