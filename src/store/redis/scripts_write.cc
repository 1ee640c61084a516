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
call('UNLINK', hash)
call('DEL', hash, sorted, set, stream, text)
return 'OK'
)");

}  // namespace takt::internal::redis
