// Opens a store by its URL. The one place that knows which backends there are.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/embedded/salvage.h"
#include "store/store.h"
#include "store/store_snapshot.h"

namespace takt::internal {

struct StoreOptions {
    std::size_t cache_bytes = 64u << 20;  // embedded: of pages, for each connection.
    bool create = true;  // embedded: whether an empty one is made if there is none.
    // A store that is not there yet is opened all the same: it answers kUnavailable, with the reason,
    // until it is there. Else opening it fails with kUnavailable.
    bool wait = false;
    Duration wait_interval{1'000};  // Between two attempts to open it.
};

// file:./takt-data   a directory of this machine, for one process
// etcd://host:2379   an etcd cluster; docs/stores/etcd.md has the rest of the URL
// memory:            nothing outlives the process; for trying out and for tests
// redis://host:port  Redis; also rediss, redis+sentinel, rediss+sentinel: docs/stores/redis.md
// mysql://…          a MySQL or MariaDB database; see ParseMysqlUrl
//
// kInvalid if the URL names no backend of ours; else what the backend's own opening says.
Result<std::unique_ptr<Store>> OpenStore(std::string_view url, const StoreOptions& options = {});

// What such a URL names as it is now, for reading all of it while schedulers go on. Errors as
// OpenStore; kInvalid for a kind that cannot show one moment.
Result<std::unique_ptr<StoreSnapshot>> OpenSnapshot(std::string_view url,
                                                    const SnapshotOptions& options);

// The faults of the file that such a URL names, a line each; of a server, which looks after its
// files itself, nothing. Errors as DamageOfEmbedded.
Result<std::vector<std::string>> FindDamage(std::string_view url);
// REQUIRES: FindDamage found some.
Result<Salvaged> SalvageStore(std::string_view url);

}  // namespace takt::internal
