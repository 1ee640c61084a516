// RedisOptions: what a redis:// URL says about the server and how to use it.
//
//   redis://[user:password@]host[:port][/db][?name=value&…]     one server; rediss:// for TLS
//   redis://host:port,host:port,…  or  ?cluster=1               Redis Cluster
//   redis+sentinel://host:port,host:port/master[/db]            Sentinel; rediss+sentinel:// too
//
// docs/stores/redis.md lists the parameters, the table in options.cc reads them.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "store/url/parameters.h"

namespace takt::internal::redis {

struct Endpoint {
    std::string host;
    std::uint16_t port = 0;

    friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};
std::string Show(const Endpoint& endpoint);  // "10.0.0.5:6379", "[::1]:6379"

struct Credentials {
    std::string user;      // Empty is Redis' default user.
    std::string password;  // Empty is no AUTH.
};

enum class Deployment : std::uint8_t { kSingle, kSentinel, kCluster };

struct RedisOptions {
    Deployment deployment = Deployment::kSingle;
    std::vector<Endpoint> hosts;
    std::string master;  // Sentinel's name of the primary.
    Credentials credentials;
    Credentials sentinel_credentials;
    unsigned database = 0;
    std::string prefix = "takt";  // First part of all keys.
    StoreTls tls;
    Duration timeout{5'000};          // Of one call.
    Duration connect_timeout{2'000};  // Of one attempt to connect, name resolution included.
    std::uint64_t wait_replicas = 0;  // Replicas that must have a commit before it succeeds.
    Duration wait_timeout{1'000};
    std::uint64_t events_max = 100'000;  // About so many stay in the stream of events.
    bool publish = true;                 // Events also go out by PUBLISH.
    bool unsafe = false;                 // Open also what may throw rows away.
};

// kInvalid, naming the part at fault, for anything that is not such a URL. The password is in no
// error text.
Result<RedisOptions> ParseRedisUrl(std::string_view url);

// "redis 10.0.0.5:6379/0, prefix takt". Never a password.
std::string Describe(const RedisOptions& options);

}  // namespace takt::internal::redis
