// BatchCommands: a batch as the call of the commit script.
#pragma once

#include <cstdint>

#include "store/redis/client.h"
#include "store/redis/keys.h"
#include "store/redis/options.h"
#include "store/store.h"

namespace takt::internal::redis {

// Executions that one Purge deletes: as many as changes of a commit, since a script holds up
// everybody else (30,000 would take some tenths of a second).
constexpr std::uint32_t kPurgeMax = 1000;

// Few commands: one MSET for all executions of a batch, and one ZADD or ZREM per index and batch,
// however many rows it moves.
Call MakeCommit(const Batch& batch, const PartitionKeys& keys, const RedisOptions& options);

}  // namespace takt::internal::redis
