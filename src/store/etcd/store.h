// The store in an etcd cluster (3.4 or later), for several schedulers.
//
// Durable as etcd is: an answered commit is on the disks of a majority. Layout, settings and sizing
// are in docs/stores/etcd.md.
#pragma once

#include <memory>

#include "store/etcd/options.h"
#include "store/store.h"

namespace takt::internal {
namespace etcd {
struct Schema;
}

// Does not wait for the cluster: operations say kUnavailable while it cannot be reached. kInvalid
// if a file of the options cannot be read.
Result<std::unique_ptr<Store>> OpenEtcd(const EtcdOptions& options);
// The same with another layout than this version's own: for tests of what the next one will do.
Result<std::unique_ptr<Store>> OpenEtcd(const EtcdOptions& options, const etcd::Schema& schema);

}  // namespace takt::internal
