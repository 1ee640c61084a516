-- Acquires and releases locks that nobody else wants: each acquire is followed by a release of what it gave.
local given = {}
local count = 0
local headers = { ["Content-Type"] = "application/json" }
local thread_number = 0

function setup(thread)
    thread_number = thread_number + 1
    thread:set("number", thread_number)
end

function request()
    local held = table.remove(given)
    if held then
        local body = '{"lock_id": "' .. held.id .. '"}'
        return wrk.format("POST", "/api/v1/locks/" .. held.name .. "/release", headers, body)
    end
    count = count + 1
    return wrk.format("POST", "/api/v1/locks/bench-" .. number .. "-" .. count .. "/acquire", headers, '{"ttl": "1h"}')
end

-- A release answers with the id as well, and must not be released again: its lock is known to be gone.
local gone = {}
function response(status, _, body)
    local id = body:match('"lock_id":"(%w+)"')
    local name = body:match('"name":"([%w-]+)"')
    if not id then return end
    if gone[id] then
        gone[id] = nil
    else
        gone[id] = true
        given[#given + 1] = { name = name, id = id }
    end
end
