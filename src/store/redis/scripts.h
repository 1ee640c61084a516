// Scripts: what Redis runs as one step. Each begins with what its keys and arguments are.
//
// All keys are named in KEYS, so that Redis Cluster can check them before it starts, except where a
// row itself says in which indexes it stands; those scripts look at all of them before they write.
// A script that has begun to write does not fail: the first write is one that Redis refuses when it
// is full, read-only or without replicas, and everything after it is let through. Scripts of
// scripts_read.cc write nothing, so that such a server still answers them.
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

// Lua for scripts that read executions: `texts` gives the two strings of one, false for what is not
// there; `look` what their first lines tell (rows.h).
inline constexpr std::string_view kLook = R"(
local function texts(prefix, id)
  return unpack(redis.call('MGET', prefix .. 'x:' .. id, prefix .. 's:' .. id))
end

local function look(prefix, id)
  local text, state = texts(prefix, id)
  local row = {}
  local status, type, queue, task, worker, at =
    string.match(text or '', '^(%S+) %d+ (%d+) (%d+) (%d+) (%S*)\n()')
  if status then
    row.status, row.worker = status, worker
    row.type = string.sub(text, at, at + type - 1)
    at = at + type
    row.queue = string.sub(text, at, at + queue - 1)
    at = at + queue
    row.task = string.sub(text, at, at + task - 1)
  end
  if state then row.status, row.worker = string.match(state, '^(%S+)[^\n]* (%S*)\n') end
  return row
end
)";

// Of rows in one answer to kLoad, kTasks or kList, which hold Redis up for a few milliseconds.
constexpr std::size_t kPageBytes = 4 << 20;

}  // namespace takt::internal::redis
