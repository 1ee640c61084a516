#include "store/redis/scripts.h"

namespace takt::internal::redis {

// KEYS fence, then the key of each command in turn.
// ARGV epoch, nonce, sequence, last serial, prefix of the keys, then commands: a name, the number
// of its arguments, its arguments. Names in small letters are ours and have no key, except `event`,
// which has the key of its stream, `rows`, which has one for each argument, and `ended`, which has
// those of its list and of the sorted set.
//   rows texts…                    executions, or what changed of them
//   redrive id member kin          takes a finished row out of its indexes
//   purge before events_end audit_end count  what retention no longer keeps
//   groups names…                  of settings that changed: listed as long as they have any
//   event id values…, publish channel message
//   ended entries…                 of those that ended, the oldest first
// `redrive` and `purge` come first: they touch keys that only rows name, and look at all of these
// before anything is written.
// Answers {what became of it, the sequence that stands, 'full' if Redis has no room for more};
// 'paused' while a backup reads: nothing was done.
const Script kCommit(std::string(kLook) + R"(
local call, pcall, unpack = redis.call, redis.pcall, unpack
local fence = call('HMGET', KEYS[1], 'epoch', 'nonce', 'sequence', 'last_serial', 'paused_until')
if fence[1] ~= ARGV[1] or fence[2] ~= ARGV[2] then return {'fenced'} end
local have, want = tonumber(fence[3]), tonumber(ARGV[3])
if want > have + 1 then return {'gap', fence[3]} end
if fence[5] and want > have then
  local now = call('TIME')
  if tonumber(fence[5]) > now[1] * 1000 + math.floor(now[2] / 1000) then return {'paused'} end
end
-- Refused by a read-only server, and then nothing was done. A full one refuses it too, but takes a
-- deletion, and after that whatever the script writes: what was decided is written, and the answer
-- says that there is no room for more. In a repetition it is the write that a WAIT after it waits
-- for.
local full = ''
local first = pcall('HSET', KEYS[1], 'sequence', fence[3])
if type(first) == 'table' and first.err then
  if not string.find(first.err, 'OOM', 1, true) then return first end
  full = 'full'
  call('HDEL', KEYS[1], 'open')
  call('HSET', KEYS[1], 'sequence', fence[3])
end
if want <= have then return {'applied', fence[3], full} end

local prefix, k = ARGV[5], 1

)" + std::string(kPlan) +
                     R"(
local plan, redriven = {}, {}

function plan.redrive(at)
  local id = ARGV[at]
  local row = look(prefix, id)
  row.member, row.kin = ARGV[at + 1], ARGV[at + 2]
  redriven[row.member] = true
  row.task = ''  -- The indexes of its task and of its run have live rows too.
  plan_unindex({row})
  plan_delete({prefix .. 's:' .. id})
  -- Its entry in the list is left there: a purge meets it before that of its next end, and skips it. Not if
  -- it ended by a clock that was ahead: it may end again, and be purged, long before that entry is due.
  local ended = row.kin == '' and string.match(row.state or '', '^%S+ %S+ %S+ %S+ %S+ %S+ %S+ %S+ (%d+) ')
  if ended and tonumber(ended) > call('TIME')[1] * 1000 then
    call('EXISTS', prefix .. 'ended')
    planned[#planned + 1] = function()
      call('LREM', prefix .. 'ended', -1, ended .. ' ' .. row.member)
    end
  end
end

local live = {pending = true, scheduled = true, running = true, retrying = true}

-- Whether the row ended at `time` and was not run again since: then it has ended anew, or will.
local function ended_at(row, time)
  if not row.state then return row.status ~= nil and not live[row.status] end
  return string.match(row.state, '^%S+ %S+ %S+ %S+ %S+ %S+ %S+ %S+ (%S+) ') == time
end

-- The rows to purge: the oldest that have no parent, at most `count`. The children of a run go before
-- it, as many as fit, and those may be runs themselves: it stays in its place until they are gone.
local function to_purge(before, count)
  local found, left = {}, tonumber(count)
  -- `times`: when each of them ended, if that is not sure. Returns how many were done with.
  local function take(members, kin, run, times)
    local ids = {}
    for i, member in ipairs(members) do ids[i] = string.sub(member, 21) end
    local runs = known_runs(ids)
    for i, member in ipairs(members) do
      if left == 0 then return i - 1 end
      local row = times and look(prefix, ids[i])
      if not redriven[member] and (not times or ended_at(row, times[i])) then
        if runs[i] then
          take(call('ZRANGE', prefix .. 'children:' .. ids[i], 0, left - 1), 'child:', ids[i])
        end
        if left == 0 then return i - 1 end
        row = row or look(prefix, ids[i])
        -- A run ends with its last child; one that is live all the same is not retention's.
        if kin == '' or not live[row.status] then
          row.member, row.kin, row.run, row.has_children = member, kin, run, runs[i]
          row.listed = times ~= nil
          found[#found + 1] = row
          left = left - 1
        end
      end
    end
    return #members
  end
  -- Those of the layout before, and those that did not come in their order, are in a sorted set.
  take(call('ZRANGEBYSCORE', prefix .. 'finished', '-inf', '(' .. before, 'LIMIT', 0, count),
       '')
  if left == 0 then return found end
  local members, times = {}, {}
  for i, entry in ipairs(call('LRANGE', prefix .. 'ended', 0, left - 1)) do
    local time, member = string.match(entry, '^(%-?%d+) (.*)$')
    if time and tonumber(time) >= tonumber(before) then break end
    members[i], times[i] = member or '', time or ''  -- Not one of ours: it has no row.
  end
  local done = take(members, '', nil, times)
  if done > 0 then
    -- Before anything else takes an entry out of it.
    table.insert(planned, 1, function() call('LTRIM', prefix .. 'ended', done, -1) end)
  end
  return found
end

function plan.purge(at)
  local before, events_end, audit_end, count = unpack(ARGV, at, at + 3)
  local found = to_purge(before, count)
  plan_unindex(found)
  plan_delete_rows(found)
  if events_end ~= '' then
    local old = {}
    for _, entry in ipairs(call('XRANGE', prefix .. 'events', '-', events_end, 'COUNT', count)) do
      old[#old + 1] = entry[1]
    end
    if #old > 0 then
      planned[#planned + 1] = function() many('XDEL', prefix .. 'events', old) end
    end
  end
  if audit_end == '' then return end
  local old = call('ZRANGEBYLEX', prefix .. 'audit', '-', audit_end, 'LIMIT', 0, count)
  if #old > 0 then
    planned[#planned + 1] = function() many('ZREM', prefix .. 'audit', old) end
  end
end

local own = {}

function own.rows(first, last)
  local pairs = {}
  for j = first, last do
    k = k + 1
    pairs[#pairs + 1] = KEYS[k]
    pairs[#pairs + 1] = ARGV[j]
  end
  call('MSET', unpack(pairs))
end

function own.groups(first, last)
  for j = first, last do
    local has = call('EXISTS', prefix .. 'settings:' .. ARGV[j]) == 1
    call(has and 'SADD' or 'SREM', prefix .. 'setting_groups', ARGV[j])
  end
end

-- The list stays in order of time, but for the minute by which a report may well be late. What ended longer
-- before the last that is in it, since the leader's clock is behind that of an earlier one, is sorted in.
function own.ended(first, last)
  local list, sorted = KEYS[k + 1], KEYS[k + 2]
  k = k + 2
  local newest = string.match(call('LINDEX', list, -1) or '', '^(%-?%d+) ')
  local earliest = newest and newest - 60000
  local late = {}
  while earliest and first <= last do
    local time, member = string.match(ARGV[first], '^(%-?%d+) (.*)$')
    if tonumber(time) >= earliest then break end
    late[#late + 1] = time
    late[#late + 1] = member
    first = first + 1
  end
  if #late > 0 then call('ZADD', sorted, unpack(late)) end
  if first <= last then call('RPUSH', list, unpack(ARGV, first, last)) end
end

-- An id that is not above the last one is refused. Nothing may be lost for that: it goes to the end.
function own.event(first)
  k = k + 1
  local v, id = ARGV, ARGV[first]
  local how = pcall
  for _ = 1, 2 do
    local added = how('XADD', KEYS[k], id, 'type', v[first + 1], 'execution', v[first + 2],
                      'task', v[first + 3], 'worker', v[first + 4], 'attempt', v[first + 5],
                      'at', v[first + 6], 'detail', v[first + 7])
    if type(added) ~= 'table' then return end
    id, how = '*', call
  end
end

-- A user without the right to the channel, or nobody who listens, is no reason to fail.
function own.publish(first) pcall('PUBLISH', ARGV[first], ARGV[first + 1]) end

local i, n = 6, #ARGV
while i < n and plan[ARGV[i]] do
  plan[ARGV[i]](i + 2)
  i = i + 2 + ARGV[i + 1]
end
for _, act in ipairs(planned) do act() end

while i < n do
  local name, last = ARGV[i], i + 1 + ARGV[i + 1]
  local ours = own[name]
  if ours then
    ours(i + 2, last)
  else
    k = k + 1
    call(name, KEYS[k], unpack(ARGV, i + 2, last))
  end
  i = last + 1
end

local last_serial = ARGV[4]
if fence[4] and fence[4] > last_serial then last_serial = fence[4] end
call('HSET', KEYS[1], 'sequence', ARGV[3], 'last_serial', last_serial)
return {'applied', ARGV[3], full}
)");

// KEYS fence. ARGV milliseconds from now, 0 ends it.
// Commits are not applied until then. Answers what the fence says: equal answers at the beginning and
// at the end mean that nothing was committed in between.
const Script kPause(R"(
local fence = redis.call('HMGET', KEYS[1], 'epoch', 'nonce', 'sequence')
if fence[1] then
  if ARGV[1] == '0' then
    redis.call('HDEL', KEYS[1], 'paused_until')
  else
    local now = redis.call('TIME')
    local until_ms = now[1] * 1000 + math.floor(now[2] / 1000) + ARGV[1]
    redis.call('HSET', KEYS[1], 'paused_until', string.format('%.0f', until_ms))
  end
end
return (fence[1] or '') .. ' ' .. (fence[2] or '') .. ' ' .. (fence[3] or '')
)");

// KEYS fence. ARGV prefix of the keys, what the fence said at the first step or '', rows at most, the
// last epoch that may have been there.
// Deletes so many executions of a partition or, when there are none left, all else but the fence.
// Answers {'more' or 'done', what the fence says}, or {'led', epoch, nonce, node, address} of the term
// that somebody has begun since.
const Script kDrop(std::string(kLook) + R"(
local call, unpack = redis.call, unpack
local fence = call('HMGET', KEYS[1], 'epoch', 'nonce', 'node', 'address')
local term = (fence[1] or '') .. ' ' .. (fence[2] or '')
if tonumber(fence[1] or 0) > tonumber(ARGV[4]) or ARGV[2] ~= '' and ARGV[2] ~= term then
  return {'led', fence[1] or '0', fence[2] or '', fence[3] or '', fence[4] or ''}
end
local prefix, left = ARGV[1], tonumber(ARGV[3])
)" + std::string(kPlan) +
                   R"(
local found, ids = {}, {}
local statuses = {'success', 'failed', 'cancelled', 'skipped'}
local function take(kin, name)
  if left == 0 then return end
  local set = prefix .. kin .. name
  for _, member in ipairs(call('ZRANGE', set, 0, left - 1)) do
    local id = string.sub(member, 21)
    local row = look(prefix, id)
    row.member, row.kin, row.set = member, kin, set
    found[#found + 1], ids[#ids + 1] = row, id
    left = left - 1
  end
end
for _, kin in ipairs({'', 'child:'}) do
  take(kin, 'live')
  for _, status in ipairs(statuses) do take(kin, 'history:' .. status) end
end
for i, run in ipairs(known_runs(ids)) do
  found[i].has_children = run
  if run then plan_delete({prefix .. 'children:' .. ids[i]}) end
end
plan_unindex(found)
plan_delete_rows(found)
for _, act in ipairs(planned) do act() end
if #found > 0 then return {'more', term} end

for _, run in ipairs(call('HKEYS', prefix .. 'runs')) do
  call('UNLINK', prefix .. 'children:' .. run)
end
for _, group in ipairs(call('SMEMBERS', prefix .. 'setting_groups')) do
  call('UNLINK', prefix .. 'settings:' .. group)
end
for _, name in ipairs({'settings', 'setting_groups', 'workers', 'workers:online', 'tasks', 'task_ids',
                       'records', 'record_ids', 'events', 'audit', 'finished', 'ended', 'runs'}) do
  call('UNLINK', prefix .. name)
end
return {'done', term}
)");

}  // namespace takt::internal::redis
