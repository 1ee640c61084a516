// EtcdOptions: how to reach an etcd cluster and where in it Takt keeps its keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace takt::internal {

struct EtcdOptions {
    std::vector<std::string> endpoints;  // "host:port", at least one.
    std::string prefix = "/takt";        // Of all keys; starts with a slash, ends with none.
    std::string user;                    // Empty: no authentication.
    std::string password;
    bool tls = false;
    std::string ca_file;    // PEM. Empty: the system's authorities.
    std::string cert_file;  // PEM of a client certificate, together with key_file.
    std::string key_file;
    Duration timeout{5000};  // Of one operation, all its attempts together.
    bool compact = true;     // Whether the leader discards old revisions; see docs/stores/etcd.md.
    std::size_t load_page_rows = 1000;  // Executions in one page of Load.
};

// etcd://[user:password@]host[:port][,host[:port]…][/prefix][?name=value&…]
//
//   tls=1            encrypt; implied by ca, cert and key
//   ca, cert, key    files in PEM form
//   timeout          of one operation, "5s"; 100ms to 60s
//   compact=0        leave the discarding of old revisions to etcd's --auto-compaction
//
// Names and values may be percent-encoded. kInvalid, naming the part at fault and never the
// password, for anything else; unknown parameters are refused.
Result<EtcdOptions> ParseEtcdUrl(std::string_view url);

}  // namespace takt::internal
