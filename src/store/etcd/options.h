// EtcdOptions: how to reach an etcd cluster and where in it Takt keeps its keys.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "store/url/parameters.h"

namespace takt::internal {

struct EtcdOptions {
    std::vector<std::string> endpoints;  // "host:port", at least one.
    std::string prefix = "/takt";        // Of all keys; starts with a slash, ends with none.
    std::string user;                    // Empty: no authentication.
    std::string password;
    StoreTls tls;
    Duration timeout{5000};   // Of one operation, all its attempts together.
    bool compact = true;      // Whether the leader discards old revisions; see docs/stores/etcd.md.
    std::uint64_t quota = 0;  // etcd's, in bytes, where it does not tell itself; 0: its default.
    std::size_t load_page_rows = 1000;  // Executions in one page of Load.
    bool pinned = false;                // All reads are of the revision that the first one saw.
    // Each time after etcd told its sizes, on a thread of the store's. For tests, which wait for it.
    std::function<void()> on_sizes = {};
};

// etcd://[user:password@]host[:port][,host[:port]…][/prefix][?name=value&…]
// docs/stores/etcd.md lists the parameters, the table in options.cc reads them.
// Parts are percent-encoded. kInvalid, naming the part at fault and never the password, for
// anything else.
Result<EtcdOptions> ParseEtcdUrl(std::string_view url);

}  // namespace takt::internal
