#include "store/redis/scripts.h"

namespace takt::internal::redis {

// KEYS meta, partitions, nodes. ARGV layout, partition, prefix of the nodes' keys.
// Answers {layout that is stored, {node, layout that it knows or ''} …}. Writes only what is not
// there yet, so that a full server does not refuse it.
const Script kStand(R"(
local stored = redis.call('HGET', KEYS[1], 'layout')
if not stored then
  redis.call('HSET', KEYS[1], 'layout', ARGV[1])
  stored = ARGV[1]
end
if redis.call('SISMEMBER', KEYS[2], ARGV[2]) == 0 then redis.call('SADD', KEYS[2], ARGV[2]) end
local answer = {stored}
for _, id in ipairs(redis.call('SMEMBERS', KEYS[3])) do
  local row = redis.call('HMGET', ARGV[3] .. id, 'address', 'layout')
  if row[1] then answer[#answer + 1] = {id, row[2] or ''} end
end
return answer
)");

// KEYS fence, lease. ARGV nonce, node, address, ttl in ms, epoch floor, layout that we know, layout
// of a fence that does not say, text that the fence gets if the layout is to be raised, or ''.
// Answers {epoch}, {false, who leads} or {'layout', the fence's}.
const Script kAcquire(R"(
local fence, lease = KEYS[1], KEYS[2]
local row = redis.call('HMGET', fence, 'epoch', 'node', 'layout')
if redis.call('EXISTS', lease) == 1 and row[2] ~= ARGV[2] then
  return {false, row[2] or ''}
end
local layout = row[3] or ARGV[7]
if ARGV[8] == '' and layout ~= ARGV[6] then return {'layout', layout} end
local epoch = math.max(tonumber(row[1] or 0), tonumber(ARGV[5])) + 1
local text = string.format('%.0f', epoch)
redis.call('HDEL', fence, 'open')  -- Allowed when Redis is full, and with it what follows.
redis.call('HSET', fence, 'epoch', text, 'nonce', ARGV[1], 'sequence', '0',
           'node', ARGV[2], 'address', ARGV[3], 'layout', ARGV[8] ~= '' and ARGV[8] or ARGV[6])
redis.call('SET', lease, ARGV[2], 'PX', ARGV[4])
return {text}
)");

// KEYS fence. ARGV epoch, nonce, layout. The steps to the layout are done. Answers 1, or 0 if the
// term is over.
const Script kRaised(R"(
local row = redis.call('HMGET', KEYS[1], 'epoch', 'nonce')
if row[1] ~= ARGV[1] or row[2] ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], 'layout', ARGV[3])
return 1
)");

// KEYS fence, lease. ARGV epoch, nonce, ttl in ms. Answers 1, or 0 if the term is over. Redis takes
// PEXPIRE also when it is full.
const Script kRenew(R"(
local row = redis.call('HMGET', KEYS[1], 'epoch', 'nonce')
if row[1] ~= ARGV[1] or row[2] ~= ARGV[2] then return 0 end
return redis.call('PEXPIRE', KEYS[2], ARGV[3])
)");

// KEYS fence, lease. ARGV epoch, nonce.
const Script kResign(R"(
local row = redis.call('HMGET', KEYS[1], 'epoch', 'nonce')
if row[1] ~= ARGV[1] or row[2] ~= ARGV[2] then return 0 end
redis.call('DEL', KEYS[2])
redis.call('HSET', KEYS[1], 'nonce', '')
return 1
)");

// KEYS nodes, the node's. ARGV node, ttl in ms (0 withdraws it), address, version, started_at,
// prefix of the nodes' keys, layout. A scheduler that announces itself takes out those whose time
// has run out.
const Script kAnnounce(R"(
redis.call('DEL', KEYS[2])
if ARGV[2] == '0' then
  redis.call('SREM', KEYS[1], ARGV[1])
  return 1
end
redis.call('HSET', KEYS[2], 'address', ARGV[3], 'version', ARGV[4], 'started_at', ARGV[5],
           'layout', ARGV[7])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
redis.call('SADD', KEYS[1], ARGV[1])
for _, id in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  if redis.call('EXISTS', ARGV[6] .. id) == 0 then redis.call('SREM', KEYS[1], id) end
end
return 1
)");

// KEYS fence, then the key of each command in turn.
// ARGV epoch, nonce, sequence, last serial, prefix of the keys, then commands: a name, the number
// of its arguments, its arguments. Names in small letters are ours and have no key, except `event`
// and `log`, which have the key of their stream, and `rows`, which has one for each argument.
//   rows texts…                    executions, or what changed of them
//   redrive id member              takes a finished row out of its indexes
//   purge before events_end count  what retention no longer keeps
//   event id values…, log id fields…, publish channel message
// `redrive` and `purge` come first: they touch keys that only rows name, and look at all of these
// before anything is written.
// Answers {what became of it, the sequence that stands, 'full' if Redis has no room for more}.
const Script kCommit(std::string(kLook) + R"(
local call, pcall, unpack = redis.call, redis.pcall, unpack
local fence = call('HMGET', KEYS[1], 'epoch', 'nonce', 'sequence', 'last_serial')
if fence[1] ~= ARGV[1] or fence[2] ~= ARGV[2] then return {'fenced'} end
local have, want = tonumber(fence[3]), tonumber(ARGV[3])
if want > have + 1 then return {'gap', fence[3]} end
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

-- Calls with many members, in parts that fit Lua's stack.
local function many(name, key, members)
  for i = 1, #members, 1000 do
    call(name, key, unpack(members, i, math.min(i + 999, #members)))
  end
end

-- What `redrive` and `purge` will do once all of them have looked.
local planned = {}

-- Takes rows out of their indexes, later. In a slot that is moving to another node a key that is
-- not here any more ends the script now, before the first write, and not in the middle.
local function plan_unindex(found)
  local sets, keys = {}, {}
  local function put(key, member)
    if not sets[key] then sets[key] = {}; keys[#keys + 1] = key end
    table.insert(sets[key], member)
  end
  for _, row in ipairs(found) do
    put(prefix .. 'finished', row.member)
    if row.status then put(prefix .. 'history:' .. row.status, row.member) end
    if row.worker and row.worker ~= '' then put(prefix .. 'worker:' .. row.worker, row.member) end
    if row.task and row.task ~= '' then put(prefix .. 'task:' .. row.task, row.member) end
  end
  for _, key in ipairs(keys) do
    call('EXISTS', key)
    planned[#planned + 1] = function() many('ZREM', key, sets[key]) end
  end
end

-- Deletes keys, later.
local function plan_delete(...)
  local keys = {...}
  call('EXISTS', unpack(keys))
  planned[#planned + 1] = function() call('DEL', unpack(keys)) end
end

local plan = {}

function plan.redrive(at)
  local id = ARGV[at]
  local row = look(prefix, id)
  row.member = ARGV[at + 1]
  row.task = ''  -- The task's index has live rows too.
  plan_unindex({row})
  plan_delete(prefix .. 's:' .. id)
end

function plan.purge(at)
  local before, events_end, count = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local found = {}
  for _, member in ipairs(call('ZRANGEBYSCORE', prefix .. 'finished', '-inf', '(' .. before,
                               'LIMIT', 0, count)) do
    local row = look(prefix, string.sub(member, 21))
    row.member = member
    found[#found + 1] = row
  end
  plan_unindex(found)
  for _, row in ipairs(found) do
    local id = string.sub(row.member, 21)
    plan_delete(prefix .. 'x:' .. id, prefix .. 's:' .. id, prefix .. 'log:' .. id)
  end
  if events_end == '' then return end
  local old = {}
  for _, entry in ipairs(call('XRANGE', prefix .. 'events', '-', events_end, 'COUNT', count)) do
    old[#old + 1] = entry[1]
  end
  if #old > 0 then
    planned[#planned + 1] = function() many('XDEL', prefix .. 'events', old) end
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

function own.log(first, last)
  k = k + 1
  local added = pcall('XADD', KEYS[k], unpack(ARGV, first, last))
  if type(added) == 'table' then call('XADD', KEYS[k], '*', unpack(ARGV, first + 1, last)) end
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

// KEYS a hash, a sorted set, a set, a stream and a string, all for this test only. Uses every
// command that the others use, so that a user who may not is found out at the start and not in the
// middle of a commit. Begins with a deletion, so that a full server lets it through.
const Script kProbe(R"(
local call = redis.call
local hash, sorted, set, stream, text = unpack(KEYS)
call('DEL', text)
call('HSET', hash, 'a', '1', 'b', '2')
call('HDEL', hash, 'b')
call('HMGET', hash, 'a')
call('HGETALL', hash)
call('HKEYS', hash)
call('HGET', hash, 'a')
call('ZADD', sorted, 1, 'a', 2, 'b')
call('ZRANGEBYSCORE', sorted, '-inf', '(2', 'LIMIT', 0, 1)
call('ZRANGEBYLEX', sorted, '-', '+', 'LIMIT', 0, 1)
call('ZREVRANGEBYLEX', sorted, '+', '-', 'LIMIT', 0, 1)
call('ZREM', sorted, 'a')
call('SADD', set, 'a')
call('SISMEMBER', set, 'a')
call('SMEMBERS', set)
call('SREM', set, 'a')
call('XADD', stream, '1-1', 'a', '1')
call('XTRIM', stream, 'MAXLEN', '~', '10')
call('XRANGE', stream, '-', '+', 'COUNT', 1)
call('XDEL', stream, '1-1')
call('SET', text, '1', 'PX', '1000')
call('MSET', text, '1')
call('MGET', text)
call('PEXPIRE', text, '1000')
call('EXISTS', text)
call('DEL', hash, sorted, set, stream, text)
return 'OK'
)");

}  // namespace takt::internal::redis
