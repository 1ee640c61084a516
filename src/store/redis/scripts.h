// Scripts: what Redis runs as one step. Each begins with what its keys and arguments are.
//
// All keys are named in KEYS, so that Redis Cluster can check them before it starts, except where a
// row itself says in which indexes it stands; those scripts look at all of them before they write.
// A script that has begun to write does not fail: the first write is one that Redis refuses when it
// is read-only or without replicas, and everything after it is let through. A full Redis takes a
// deletion and then all the rest: so the scripts that a leader lives by begin with one. Those of
// scripts_read.cc write nothing, so that a server that refuses all writes still answers them.
#pragma once

#include "store/redis/client.h"

namespace takt::internal::redis {

extern const Script kStand;
extern const Script kAcquire;
extern const Script kRaised;
extern const Script kResign;
extern const Script kPublish;
extern const Script kLeaders;
extern const Script kOlderLeader;
extern const Script kCommit;
extern const Script kDrop;
extern const Script kPause;
extern const Script kAnnounce;
extern const Script kNodes;
extern const Script kLoad;
extern const Script kHashPage;
extern const Script kList;
extern const Script kSettings;
extern const Script kLog;
extern const Script kGroupSettings;
extern const Script kMendIndexes;
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
  row.state = state
  return row
end
)";

// Lua for scripts that delete rows, behind `call`, `prefix` and kLook: first all of them are looked at,
// then what is planned is done. In a slot that is moving to another node a key that is not here any
// more ends the script before the first write, and not in the middle.
inline constexpr std::string_view kPlan = R"(
-- Calls with many members or keys, in parts that fit Lua's stack.
local function many(name, key, members)
  for i = 1, #members, 1000 do
    call(name, key, unpack(members, i, math.min(i + 999, #members)))
  end
end
local function many_keys(name, keys)
  for i = 1, #keys, 1000 do call(name, unpack(keys, i, math.min(i + 999, #keys))) end
end

local planned = {}

-- Takes rows out of their indexes, later. Of each: `member`, `kin` ('child:' if it is part of a run),
-- and, where it stands there too, `run` and `set`.
local function plan_unindex(found)
  local sets, keys = {}, {}
  local function put(key, member)
    if not sets[key] then sets[key] = {}; keys[#keys + 1] = key end
    table.insert(sets[key], member)
  end
  for _, row in ipairs(found) do
    local base = prefix .. row.kin
    if row.kin == '' and not row.listed then put(prefix .. 'finished', row.member) end
    if row.status then put(base .. 'history:' .. row.status, row.member) end
    if row.worker and row.worker ~= '' then put(base .. 'worker:' .. row.worker, row.member) end
    if row.task and row.task ~= '' then put(base .. 'task:' .. row.task, row.member) end
    if row.run then put(prefix .. 'children:' .. row.run, row.member) end
    if row.set then put(row.set, row.member) end
  end
  many_keys('EXISTS', keys)
  for _, key in ipairs(keys) do
    planned[#planned + 1] = function() many('ZREM', key, sets[key]) end
  end
end

-- Deletes keys, later.
local function plan_delete(keys)
  many_keys('EXISTS', keys)
  planned[#planned + 1] = function() many_keys('DEL', keys) end
end

-- Deletes executions with their logs, later. `has_children` of those that are known as runs.
local function plan_delete_rows(found)
  local keys, runs = {}, {}
  for _, row in ipairs(found) do
    local id = string.sub(row.member, 21)
    for _, kind in ipairs({'x:', 's:', 'log:', 'lines:'}) do keys[#keys + 1] = prefix .. kind .. id end
    if row.has_children then runs[#runs + 1] = id end
  end
  plan_delete(keys)
  if #runs > 0 then
    planned[#planned + 1] = function() many('HDEL', prefix .. 'runs', runs) end
  end
end

-- Of each of the ids, whether it is a run that has had children.
local function known_runs(ids)
  if #ids == 0 then return {} end
  return call('HMGET', prefix .. 'runs', unpack(ids))
end
)";

// Lua for lists that show little of each row: `brief` gives the two strings of one without payloads
// and results. Records are protobuf (proto/record.proto): fields are skipped by their numbers. Small
// strings go as they are, since cutting costs Redis more than sending, and so do damaged ones.
inline constexpr std::string_view kBrief = R"(
local function varint(s, at)
  local value, factor = 0, 1
  while true do
    local byte = string.byte(s, at)
    at = at + 1
    if byte < 128 then return value + byte * factor, at end
    value = value + (byte - 128) * factor
    factor = factor * 128
  end
end

local function varint_text(value)
  local bytes = ''
  while value > 127 do
    bytes = bytes .. string.char(value % 128 + 128)
    value = math.floor(value / 128)
  end
  return bytes .. string.char(value)
end

-- `drop`: by the number of a field, true, or the same for the message in it.
local function strip(s, at, last, drop)
  local parts, kept = {}, at
  while at <= last do
    local start, tag, size = at, nil, nil
    tag, at = varint(s, at)
    local wire = tag % 8
    if wire == 0 then size, at = varint(s, at)
    elseif wire == 1 then at = at + 8
    elseif wire == 5 then at = at + 4
    else
      assert(wire == 2)
      size, at = varint(s, at)
      local what = drop[math.floor(tag / 8)]
      if what then
        parts[#parts + 1] = string.sub(s, kept, start - 1)
        if what ~= true then
          local inner = strip(s, at, at + size - 1, what)
          parts[#parts + 1] = varint_text(tag) .. varint_text(#inner) .. inner
        end
        kept = at + size
      end
      at = at + size
    end
  end
  parts[#parts + 1] = string.sub(s, kept, last)
  return table.concat(parts)
end

local outcome_drop = {[4] = true, [5] = true}
local execution_drop =
  {[3] = {[5] = true}, [5] = true, [8] = {[11] = outcome_drop, [12] = true}}

local function cut(text, at, drop)
  if not text or #text < 2048 or not at then return text end
  local done, rest = pcall(strip, text, at, #text, drop)
  return done and string.sub(text, 1, at - 1) .. rest or text
end

local function brief(text, state)
  local type, queue, task, at =
    string.match(text or '', '^%S+ %d+ (%d+) (%d+) (%d+) %S*\n()')
  if at then at = at + type + queue + task end
  -- The progress of a run stands between the first line and the outcome.
  local head, size, tail, rest = string.match(state or '', '^([^\n]*) p(%d+)( %S*\n)()')
  if head then state = head .. tail .. string.sub(state, rest + size) end
  return cut(text, at, execution_drop), cut(state, string.match(state or '', '\n()'), outcome_drop)
end
)";

// Of rows in one answer to kLoad, kHashPage or kList, which hold Redis up for a few milliseconds.
constexpr std::size_t kPageBytes = 4 << 20;

}  // namespace takt::internal::redis
