// Scripts: what Redis runs as one step. Each begins with what its keys and arguments are.
//
// All keys are named in KEYS, so that Redis Cluster can check them before it starts, except where a
// row itself says in which indexes it stands; those scripts look at all of them before they write.
// A script that has begun to write does not fail: the first write is one that Redis refuses when it
// is full, read-only or without replicas, and everything after it is let through.
#pragma once

#include "store/redis/client.h"

namespace takt::internal::redis {

extern const Script kAcquire;
extern const Script kRenew;
extern const Script kResign;
extern const Script kLeader;
extern const Script kCommit;
extern const Script kAnnounce;
extern const Script kNodes;
extern const Script kLoad;
extern const Script kTasks;
extern const Script kList;
extern const Script kProbe;

// Of rows in one answer to kLoad, kTasks or kList, which hold Redis up for a few milliseconds.
constexpr std::size_t kPageBytes = 4 << 20;

}  // namespace takt::internal::redis
