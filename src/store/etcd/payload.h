// Large payloads: kept under keys of their own from the execution's first commit to its purge,
// while its row goes from live to history and back without them. The task's and the one that
// overrides it, as they came with a trigger, are a key each: both may be a megabyte.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/etcd/keys.h"
#include "store/etcd/snapshot.h"
#include "store/store.h"

namespace takt::internal::etcd {

bool KeepsPayloadApart(const Execution& row);

// The row as its live key and its pack hold it: without a payload that is kept apart.
std::string EncodeRow(const Execution& row);
// The value of the payload key: the task. The override key holds row.payload, if there is one.
// REQUIRES: KeepsPayloadApart(row).
std::string EncodePayload(const Execution& row);

// Whether EncodeRow left the payload out. May be wrong about rows whose results end in the same
// bytes: then there is no payload key.
bool LacksPayload(std::string_view bytes);

// Puts the payloads of `rows` back. One that is missing stays empty.
Async<Result<void>> RestorePayloads(Snapshot& snapshot, const Keys& keys, Partition partition,
                                    std::vector<Execution*> rows);

}  // namespace takt::internal::etcd
