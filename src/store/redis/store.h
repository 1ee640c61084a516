// The store in Redis 6 or later: one server, a primary behind Sentinel, or a cluster.
//
// What it adds to the store's contract: durable as far as Redis is. A primary that dies before its
// replicas or its disk have the last writes takes them along; ?wait=N makes a commit succeed only
// once N replicas have it. docs/stores/redis.md says what is kept where and what can be lost.
#pragma once

#include <memory>

#include "store/redis/options.h"
#include "store/store.h"
#include "store/store_snapshot.h"

namespace takt::internal {
namespace redis {
struct Schema;
}

// Looks at the server, at most `timeout` for each step. kInvalid: Redis does not let us in, is too
// old, would evict rows (unless ?unsafe=1), or holds data that this version cannot use; `detail` says
// what to do. A server that cannot be reached is no reason to fail: operations say kUnavailable while
// it is away, and nobody leads before it was looked at.
Result<std::unique_ptr<Store>> OpenRedis(const redis::RedisOptions& options);
// The same with another layout than this version's own: for tests of what the next one will do.
Result<std::unique_ptr<Store>> OpenRedis(const redis::RedisOptions& options,
                                         const redis::Schema& schema);

// The state of this moment: commits of all schedulers are held back until it is confirmed or gone, at
// most for `pause_max`.
Result<std::unique_ptr<StoreSnapshot>> SnapshotRedis(const redis::RedisOptions& options,
                                                     Duration pause_max);

}  // namespace takt::internal
