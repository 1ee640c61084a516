#include "store/redis/scripts.h"

namespace takt::internal::redis {

// KEYS meta, leaders. ARGV prefix of the nodes' keys. Answers {layout, {partition, row, 1 if its node
// is announced} …}.
const Script kLeaders(R"(
local answer, announced = {redis.call('HGET', KEYS[1], 'layout') or ''}, {}
local rows = redis.call('HGETALL', KEYS[2])
for i = 1, #rows, 2 do
  local node = string.match(rows[i + 1], '^%S+ %S+ (%S+)') or '-'
  if not announced[node] then announced[node] = redis.call('EXISTS', ARGV[1] .. node) end
  answer[#answer + 1] = {rows[i], rows[i + 1], announced[node]}
end
return answer
)");

// KEYS fence, lease. Answers {node, address, epoch, nonce} while the lease stands, or nothing.
const Script kOlderLeader(R"(
if redis.call('EXISTS', KEYS[2]) == 0 then return {} end
local row = redis.call('HMGET', KEYS[1], 'node', 'address', 'epoch', 'nonce')
if not row[4] or row[4] == '' then return {} end
return row
)");

// KEYS nodes. ARGV prefix of the nodes' keys. Answers {id, hash} for each that is alive. Those that
// are not are left for kAnnounce to take out: a server that refuses writes still answers reads.
const Script kNodes(R"(
local alive = {}
for _, id in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  local row = redis.call('HMGET', ARGV[1] .. id, 'address', 'version', 'started_at', 'namespaces')
  if row[1] then alive[#alive + 1] = {id, row[1], row[2], row[3], row[4] or ''} end
end
return alive
)");

// KEYS fence, then the sorted sets of live members. ARGV lower bound of members, rows at most, bytes
// at most, prefix.
// Answers {last serial, lower bound of the next page or '', {member, text, state} …}.
const Script kLoad(std::string(kLook) + R"(
local serial = redis.call('HGET', KEYS[1], 'last_serial')
local page, bytes = {serial or '0', ''}, 0
local members = redis.call('ZRANGEBYLEX', KEYS[2], ARGV[1], '+', 'LIMIT', 0, ARGV[2] + 1)
local children = redis.call('ZRANGEBYLEX', KEYS[3], ARGV[1], '+', 'LIMIT', 0, ARGV[2] + 1)
if #children > 0 then
  for _, member in ipairs(children) do members[#members + 1] = member end
  table.sort(members)
end
for i, member in ipairs(members) do
  if i > tonumber(ARGV[2]) or bytes > tonumber(ARGV[3]) then
    page[2] = '[' .. member
    break
  end
  local text, state = texts(ARGV[4], string.sub(member, 21))
  bytes = bytes + #(text or '') + #(state or '')
  page[#page + 1] = {member, text, state}
end
return page
)");

// KEYS a sorted set of ids and a hash by them: task_ids and tasks, or record_ids and records.
// ARGV lower bound of ids, rows at most, bytes at most.
// Answers {lower bound of the next page or '', {id, value} …}.
const Script kHashPage(R"(
local page, bytes = {''}, 0
local ids = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], '+', 'LIMIT', 0, ARGV[2] + 1)
for i, id in ipairs(ids) do
  if i > tonumber(ARGV[2]) or bytes > tonumber(ARGV[3]) then
    page[1] = '[' .. id
    break
  end
  local record = redis.call('HGET', KEYS[2], id) or ''
  bytes = bytes + #record
  page[#page + 1] = {id, record}
end
return page
)");

// KEYS settings, setting_groups. ARGV prefix of the keys, of the names. Answers names and values in
// turn, as HGETALL. Names up to their first slash are a group, which has a hash of its own: who reads
// access tokens every few seconds does not touch a year of statistics. Before the layout was raised all
// are in the first hash.
const Script kSettings(R"(
local rows, wanted = {}, ARGV[2]
local function add(key)
  for _, name in ipairs(redis.call('HKEYS', key)) do
    if string.sub(name, 1, #wanted) == wanted then
      rows[#rows + 1] = name
      rows[#rows + 1] = redis.call('HGET', key, name)
    end
  end
end
add(KEYS[1])
local group = string.match(wanted, '^[^/]*/')
for _, name in ipairs(group and {group} or redis.call('SMEMBERS', KEYS[2])) do
  if string.sub(name, 1, #wanted) == wanted or group then add(ARGV[1] .. 'settings:' .. name) end
end
return rows
)");

// KEYS stream and list of an execution's output. ARGV the first index in 19 digits, and as a number,
// chunks at most. Answers {entries of the stream, which layouts before had, those of the list}.
const Script kLog(R"(
local old = redis.call('XRANGE', KEYS[1], ARGV[2], '+', 'COUNT', ARGV[3])
local left = tonumber(ARGV[3]) - #old
if left <= 0 then return {old, {}} end
local first, last = 0, redis.call('LLEN', KEYS[2])
while first < last do
  local middle = math.floor((first + last) / 2)
  if string.sub(redis.call('LINDEX', KEYS[2], middle), 1, 19) < ARGV[1] then
    first = middle + 1
  else
    last = middle
  end
end
return {old, redis.call('LRANGE', KEYS[2], first, first + left - 1)}
)");

// KEYS the sorted sets to look through, in which no member stands twice.
// ARGV prefix, upper bound, lower bound, members to look at, rows at most, bytes at most, then what
// a row must have: statuses as '|a|b|', worker, type, queue; each '' for any, else '=' and the
// value; then '1' for brief rows, and, instead of statuses, the sets in one of which it must stand.
// Newest first.
// Answers {upper bound of the next page or '', {member, text, state} …}.
//
// The sets are looked at in one step, so a row that moves from one to the other is seen once. Of a
// set that has more members than are looked at, nothing is known below the last one: the page ends
// there.
const Script kList(std::string(kLook) + std::string(kBrief) + R"(
local prefix, upper, lower, count = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local rows_max, bytes_max = tonumber(ARGV[5]), tonumber(ARGV[6])
local members, floor = {}, ''
for _, key in ipairs(KEYS) do
  local part = redis.call('ZREVRANGEBYLEX', key, upper, lower, 'LIMIT', 0, count)
  if #part == count and part[count] > floor then floor = part[count] end
  for _, member in ipairs(part) do members[#members + 1] = member end
end
if #KEYS > 1 then table.sort(members, function(a, b) return a > b end) end

local by_row = ARGV[7] ~= '' or ARGV[8] ~= '' or ARGV[9] ~= '' or ARGV[10] ~= ''
-- A set is asked much faster than a row.
local function stands(member)
  if #ARGV < 12 then return true end
  for i = 12, #ARGV do
    if redis.call('ZSCORE', ARGV[i], member) then return true end
  end
  return false
end
local function fits(member, id)
  if not stands(member) then return false end
  if not by_row then return true end
  local row = look(prefix, id)
  if ARGV[7] ~= '' and not string.find(ARGV[7], '|' .. (row.status or '') .. '|', 1, true) then
    return false
  end
  for i, value in ipairs({row.worker or '', row.type or '', row.queue or ''}) do
    if ARGV[7 + i] ~= '' and ARGV[7 + i] ~= '=' .. value then return false end
  end
  return true
end

local page, bytes, last = {''}, 0, ''
for _, member in ipairs(members) do
  if member < floor then break end
  if #page > rows_max or bytes > bytes_max then
    page[1] = '(' .. last
    return page
  end
  last = member
  local id = string.sub(member, 21)
  if fits(member, id) then
    local text, state = texts(prefix, id)
    if ARGV[11] == '1' then text, state = brief(text, state) end
    bytes = bytes + #(text or '') + #(state or '')
    page[#page + 1] = {member, text, state}
  end
end
if floor ~= '' then page[1] = '(' .. last end
return page
)");

}  // namespace takt::internal::redis
