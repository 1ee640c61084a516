#include "store/redis/redis_options.h"

#include <fmt/format.h>

#include <optional>

#include "base/id.h"
#include "base/number.h"
#include "base/url.h"

namespace takt::internal::redis {
namespace {

constexpr std::size_t kUrlBytesMax = 4096;  // Longer ones are mistakes: a file pasted, a loop.
constexpr std::size_t kHostsMax = 64;
constexpr std::uint16_t kPortDefault = 6379;
constexpr std::uint16_t kSentinelPortDefault = 26379;

std::unexpected<Error> Invalid(std::string what) {
    return Fail(ErrorCode::kInvalid, "store URL: " + std::move(what), "store");
}

Result<void> ParseHosts(std::string_view text, RedisOptions& options) {
    const std::uint16_t port =
        options.deployment == Deployment::kSentinel ? kSentinelPortDefault : kPortDefault;
    do {
        std::optional<HostPort> place = ParseHostPort(CutAt(text, ','), port);
        // Not quoted: what stands here by mistake may be a password.
        if (!place) return Invalid("a host is written name:port or [::1]:port");
        if (place->host.empty()) place->host = "127.0.0.1";
        options.hosts.push_back({std::move(place->host), place->port});
        if (options.hosts.size() > kHostsMax) return Invalid("too many hosts");
    } while (!text.empty());
    return {};
}

Result<void> ParseCredentials(std::string_view text, Credentials& credentials) {
    // "redis://secret@host", as some clients write it, is refused: there the secret would be taken
    // for a user's name, and names may be shown.
    if (text.find(':') == std::string_view::npos) {
        return Invalid("credentials are written user:password@ or :password@");
    }
    const auto user = UnescapeUrl(CutAt(text, ':'));
    const auto password = UnescapeUrl(text);
    if (!user || !password) return Invalid("a % in the credentials is not followed by two digits");
    credentials = {*user, *password};
    return {};
}

Result<void> ParsePath(std::string_view path, RedisOptions& options) {
    if (options.deployment == Deployment::kSentinel) {
        options.master = std::string(CutAt(path, '/'));
        if (options.master.empty()) {
            return Invalid("redis+sentinel:// needs the primary's name, as in …/mymaster");
        }
    }
    if (path.empty()) return {};
    const auto database = ParseNumber<unsigned>(path);
    if (!database) return Invalid("the path must be the number of a database");
    options.database = *database;
    return {};
}

// The parameters, by the kind of their value.
struct Parameters {
    explicit Parameters(RedisOptions& o) : options(o) {}
    RedisOptions& options;
    bool cluster = false;

    bool* Switch(std::string_view name) {
        if (name == "cluster") return &cluster;
        if (name == "unsafe") return &options.unsafe;
        if (name == "publish") return &options.publish;
        if (name == "verify") return &options.tls.verify;
        return nullptr;
    }
    Duration* Time(std::string_view name) {
        if (name == "timeout") return &options.timeout;
        if (name == "connect_timeout") return &options.connect_timeout;
        if (name == "wait_timeout") return &options.wait_timeout;
        return nullptr;
    }
    std::string* Text(std::string_view name) {
        if (name == "namespace") return &options.name_space;
        if (name == "ca") return &options.tls.ca_file;
        if (name == "cert") return &options.tls.cert_file;
        if (name == "key") return &options.tls.key_file;
        if (name == "sentinel_user") return &options.sentinel_credentials.user;
        if (name == "sentinel_password") return &options.sentinel_credentials.password;
        return nullptr;
    }

    Result<void> Set(std::string_view name, const std::string& value) {
        if (bool* to = Switch(name)) {
            if (value != "0" && value != "1") return Invalid(fmt::format("{} is 0 or 1", name));
            *to = value == "1";
        } else if (Duration* to = Time(name)) {
            const Result<Duration> time = ParseDuration(value);
            if (!time || *time < Duration(1) || *time > Duration(600'000)) {
                return Invalid(fmt::format("{} is a duration up to 10m, such as 5s", name));
            }
            *to = *time;
        } else if (std::string* to = Text(name)) {
            *to = value;
        } else if (name == "wait") {
            const auto number = ParseNumber<unsigned>(value);
            if (!number || *number > 100) return Invalid("wait is a number of replicas");
            options.wait_replicas = *number;
        } else if (name == "events_max") {
            const auto number = ParseNumber<std::uint64_t>(value);
            if (!number || *number == 0) return Invalid("events_max is a number above 0");
            options.events_max = *number;
        } else {
            return Invalid(fmt::format("there is no parameter {}", name));
        }
        return {};
    }
};

Result<void> ParseQuery(std::string_view query, RedisOptions& options) {
    Parameters parameters(options);
    while (!query.empty()) {
        std::string_view value = CutAt(query, '&');
        const std::string_view name = CutAt(value, '=');
        const auto text = UnescapeUrl(value);
        if (!text) return Invalid(fmt::format("{} has a % without two digits", name));
        if (Result<void> set = parameters.Set(name, *text); !set) return set;
    }
    if (parameters.cluster || options.hosts.size() > 1) {
        if (options.deployment == Deployment::kSingle) options.deployment = Deployment::kCluster;
    }
    return {};
}

Result<void> CheckTogether(const RedisOptions& options) {
    if (!IsValidId(options.name_space)) {
        return Invalid("namespace must be 1 to 64 characters of A-Z a-z 0-9 . _ ~ -");
    }
    if (options.deployment == Deployment::kCluster && options.database != 0) {
        return Invalid("Redis Cluster has database 0 only");
    }
    if (options.tls.cert_file.empty() != options.tls.key_file.empty()) {
        return Invalid("cert and key go together");
    }
    const bool tls_named =
        !options.tls.ca_file.empty() || !options.tls.cert_file.empty() || !options.tls.verify;
    if (tls_named && !options.tls.enabled)
        return Invalid("ca, cert, key and verify need rediss://");
    if (options.wait_replicas > 0 && options.wait_timeout >= options.timeout) {
        return Invalid("wait_timeout must be shorter than timeout");
    }
    return {};
}

}  // namespace

std::string Show(const Endpoint& endpoint) {
    return internal::Show(HostPort{endpoint.host, endpoint.port});
}

Result<RedisOptions> ParseRedisUrl(std::string_view url) {
    if (url.size() > kUrlBytesMax) return Invalid("too long");
    const Result<UrlParts> parts = SplitUrl(url);
    if (!parts) return Invalid(parts.error().detail);
    const std::string_view scheme = parts->scheme;

    RedisOptions options;
    const std::string_view kind = scheme.substr(0, scheme.find('+'));
    if (scheme == "redis+sentinel" || scheme == "rediss+sentinel") {
        options.deployment = Deployment::kSentinel;
    } else if (scheme != "redis" && scheme != "rediss") {
        return Invalid("the scheme is not redis, rediss, redis+sentinel or rediss+sentinel");
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
    if (Result<void> read = ParseQuery(parts->query, options); !read) {
        return std::unexpected(read.error());
    }
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
            return fmt::format("redis {} by sentinel {}/{}{}, namespace {}", options.master, hosts,
                               options.database, tls, options.name_space);
        case Deployment::kCluster:
            return fmt::format("redis cluster {}{}, namespace {}", hosts, tls, options.name_space);
        case Deployment::kSingle:
            break;
    }
    return fmt::format("redis {}/{}{}, namespace {}", hosts, options.database, tls,
                       options.name_space);
}

}  // namespace takt::internal::redis
