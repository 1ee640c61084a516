#include "store/redis/scripts.h"

namespace takt::internal::redis {

// KEYS meta, partitions, nodes, leaders. ARGV layout, partition, prefix of the nodes' keys, the
// candidate's node. Answers {layout that is stored, 1 if the candidate is announced, the partition's
// row among the leaders or '', 1 if that one's node is announced, {node, layout that it knows or ''}
// …}. Writes only what is not there yet, so that a full server does not refuse it.
const Script kStand(R"(
local stored = redis.call('HGET', KEYS[1], 'layout')
if not stored then
  redis.call('HSET', KEYS[1], 'layout', ARGV[1])
  stored = ARGV[1]
end
if redis.call('SISMEMBER', KEYS[2], ARGV[2]) == 0 then redis.call('SADD', KEYS[2], ARGV[2]) end
local row = redis.call('HGET', KEYS[4], ARGV[2]) or ''
local leader = string.match(row, '^%S+ %S+ (%S+)') or '-'
local answer = {stored, redis.call('EXISTS', ARGV[3] .. ARGV[4]), row,
                redis.call('EXISTS', ARGV[3] .. leader)}
for _, id in ipairs(redis.call('SMEMBERS', KEYS[3])) do
  local node = redis.call('HMGET', ARGV[3] .. id, 'address', 'layout')
  if node[1] then answer[#answer + 1] = {id, node[2] or ''} end
end
return answer
)");

// KEYS fence, lease. ARGV nonce, node, address, epoch floor, layout that we know, layout of a
// partition without a fence, text that the fence gets if the layout is to be raised, or '', epoch and
// nonce ('' if it was resigned) of the term that is replaced; the epoch is 0 if there was none; layout
// of a fence that does not say.
// Answers {epoch}, {false, who leads}, {'layout', the fence's} or {'other', epoch, nonce, node,
// address of the term that stands}. The lease is of a scheduler from before there were leaders.
const Script kAcquire(R"(
local fence, lease = KEYS[1], KEYS[2]
local row = redis.call('HMGET', fence, 'epoch', 'nonce', 'layout', 'node', 'address')
if redis.call('EXISTS', lease) == 1 and row[4] ~= ARGV[2] then return {false, row[4] or ''} end
if (row[1] or '0') ~= ARGV[8] or (row[2] or '') ~= ARGV[9] then
  return {'other', row[1] or '0', row[2] or '', row[4] or '', row[5] or ''}
end
local layout = row[3] or (row[1] and ARGV[10] or ARGV[6])
if ARGV[7] == '' and layout ~= ARGV[5] then return {'layout', layout} end
local epoch = math.max(tonumber(row[1] or 0), tonumber(ARGV[4])) + 1
local text = string.format('%.0f', epoch)
redis.call('HDEL', fence, 'open')  -- Allowed when Redis is full, and with it what follows.
redis.call('HSET', fence, 'epoch', text, 'nonce', ARGV[1], 'sequence', '0',
           'node', ARGV[2], 'address', ARGV[3], 'layout', ARGV[7] ~= '' and ARGV[7] or ARGV[5])
redis.call('DEL', lease)
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

// KEYS fence, lease. ARGV epoch, nonce.
const Script kResign(R"(
local row = redis.call('HMGET', KEYS[1], 'epoch', 'nonce')
if row[1] ~= ARGV[1] or row[2] ~= ARGV[2] then return 0 end
redis.call('DEL', KEYS[2])
redis.call('HSET', KEYS[1], 'nonce', '')
return 1
)");

// KEYS leaders. ARGV partition, its new row, and on which condition: 'below' and an epoch, 'term' and
// how the row begins, or 'instead of' and the row that it replaces ('' if there was none).
const Script kPublish(R"(
local row = redis.call('HGET', KEYS[1], ARGV[1]) or ''
local ok
if ARGV[3] == 'below' then
  ok = tonumber(string.match(row, '^%d+') or 0) < tonumber(ARGV[4])
elseif ARGV[3] == 'term' then
  ok = string.sub(row, 1, #ARGV[4]) == ARGV[4]
else
  ok = row == ARGV[4]
end
if not ok then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])  -- Allowed when Redis is full, and with it what follows.
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
)");

// KEYS nodes, the node's. ARGV node, ttl in ms (0 withdraws it), address, version, started_at,
// prefix of the nodes' keys, layout, namespaces. A scheduler that announces itself takes out those
// whose time has run out.
const Script kAnnounce(R"(
redis.call('DEL', KEYS[2])
if ARGV[2] == '0' then
  redis.call('SREM', KEYS[1], ARGV[1])
  return 1
end
redis.call('HSET', KEYS[2], 'address', ARGV[3], 'version', ARGV[4], 'started_at', ARGV[5],
           'layout', ARGV[7], 'namespaces', ARGV[8])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
redis.call('SADD', KEYS[1], ARGV[1])
for _, id in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  if redis.call('EXISTS', ARGV[6] .. id) == 0 then redis.call('SREM', KEYS[1], id) end
end
return 1
)");

// KEYS fence, settings, setting_groups. ARGV epoch, nonce, prefix of the keys, cursor of the scan. Some
// settings go to the hashes of their groups. Answers the next cursor, or false if the term is over.
const Script kGroupSettings(R"(
local row = redis.call('HMGET', KEYS[1], 'epoch', 'nonce')
if row[1] ~= ARGV[1] or row[2] ~= ARGV[2] then return false end
redis.call('HDEL', KEYS[1], 'open')  -- Allowed when Redis is full, and with it what follows.
local page = redis.call('HSCAN', KEYS[2], ARGV[4], 'COUNT', 100)
for i = 1, #page[2], 2 do
  local name, value = page[2][i], page[2][i + 1]
  local group = string.match(name, '^[^/]*/')
  if group then
    redis.call('SADD', KEYS[3], group)
    redis.call('HSET', ARGV[3] .. 'settings:' .. group, name, value)
    redis.call('HDEL', KEYS[2], name)
  end
end
return page[1]
)");

// KEYS fence, then the index of each entry. ARGV epoch, nonce, then of each entry the command that adds
// or removes it, its score or, in a list, its place, and the entry. Entries of a list that were moved
// since stay. Answers 1, or 0 if the term is over.
const Script kMendIndexes(R"(
local call = redis.call
local row = call('HMGET', KEYS[1], 'epoch', 'nonce')
if row[1] ~= ARGV[1] or row[2] ~= ARGV[2] then return 0 end
call('HDEL', KEYS[1], 'open')  -- Allowed when Redis is full, and with it what follows.
local lists = {}
for i = 2, #KEYS do
  local key = KEYS[i]
  local command, order, entry = unpack(ARGV, 3 * i - 3, 3 * i - 1)
  if command == 'ZADD' then
    call('ZADD', key, order, entry)
  elseif command == 'HSET' then
    call('HSET', key, entry, '')
  elseif command ~= 'LREM' then
    call(command, key, entry)
  elseif call('LINDEX', key, order) == entry then
    -- Emptied first and taken out at once: each LREM goes through the whole list.
    call('LSET', key, order, '')
    lists[key] = true
  end
end
for key in pairs(lists) do call('LREM', key, 0, '') end
return 1
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
call('ZRANGE', sorted, 0, 0)
call('ZSCORE', sorted, 'a')
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
call('HSCAN', hash, '0', 'COUNT', 1)
call('UNLINK', hash)
call('RPUSH', hash, 'a')  -- A list now.
call('LLEN', hash)
call('LINDEX', hash, 0)
call('LRANGE', hash, 0, 0)
call('LSET', hash, 0, 'b')
call('RPUSH', hash, 'c')
call('LREM', hash, 0, 'c')
call('LTRIM', hash, 0, -1)
call('DEL', hash, sorted, set, stream, text)
return 'OK'
)");

}  // namespace takt::internal::redis
