#include "api/query.h"

#include <charconv>

#include "api/json_read.h"
#include "api/task_json.h"

namespace takt::internal {
namespace {

std::unexpected<Error> BadCursor() {
    return BadField("cursor", "is not one that a list gave; leave it out to start anew");
}

constexpr std::string_view kHex = "0123456789abcdef";

Result<std::vector<Status>> ParseStatuses(std::string_view list) {
    std::vector<Status> statuses;
    // There are eight; a longer list repeats itself.
    for (int i = 0; i < 32; ++i) {
        const std::size_t comma = list.find(',');
        const auto status = ParseStatus(list.substr(0, comma));
        if (!status) {
            return BadField("status",
                            "must be one or more of pending, scheduled, running, retrying, "
                            "success, failed, cancelled, skipped");
        }
        statuses.push_back(*status);
        if (comma == list.npos) return statuses;
        list.remove_prefix(comma + 1);
    }
    return BadField("status", "names too many states");
}

template <typename Id, typename Place>
Result<bool> SetId(std::string_view name, std::string_view value, Place& place) {
    auto id = Id::Parse(value, name);
    if (!id) return std::unexpected(std::move(id.error()));
    place = std::move(*id);
    return true;
}

Result<bool> SetName(std::string_view name, std::string_view value, std::optional<Text>& place) {
    if (value.empty() || value.size() > kTaskNameBytesMax) {
        return BadField(name, "must have 1 to 200 bytes");
    }
    place = Text(value);
    return true;
}

Result<bool> SetTime(std::string_view name, std::string_view value, Time& place) {
    const auto time = ParseTime(value);
    if (!time) return BadField(name, "must be a time from 1970 on, such as 2026-11-15T02:00:00Z");
    place = *time;
    return true;
}

}  // namespace

Result<std::size_t> QueryCount(const HttpRequest& request, std::string_view name,
                               CountRange range) {
    const auto text = request.Query(name);
    if (!text) return range.standard;
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
    if (error != std::errc() || end != text->data() + text->size() || number < range.min ||
        number > range.max) {
        return BadField(name, "must be a whole number from " + std::to_string(range.min) + " to " +
                                  std::to_string(range.max));
    }
    return number;
}

std::string SerialCursor(Serial serial) {
    std::string cursor = "s";
    for (int shift = 60; shift >= 0; shift -= 4) cursor += kHex[serial >> shift & 15];
    return cursor;
}

Result<Serial> ParseSerialCursor(std::string_view cursor) {
    Serial serial = 0;
    if (cursor.size() != 17 || cursor[0] != 's') return BadCursor();
    const auto [end, error] =
        std::from_chars(cursor.data() + 1, cursor.data() + cursor.size(), serial, 16);
    if (error != std::errc() || end != cursor.data() + cursor.size()) return BadCursor();
    return serial;
}

std::string IdCursor(std::string_view id) {
    return "i" + std::string(id);
}

Result<std::string> ParseIdCursor(std::string_view cursor) {
    if (!cursor.starts_with('i') || !IsValidId(cursor.substr(1))) return BadCursor();
    return std::string(cursor.substr(1));
}

Result<bool> SetFilter(ExecutionQuery& filter, std::string_view name, std::string_view value) {
    if (name == "task_id") return SetId<TaskId>(name, value, filter.task);
    if (name == "parent_id") return SetId<ExecutionId>(name, value, filter.parent);
    if (name == "children") {
        if (value != "true" && value != "false") return BadField(name, "must be true or false");
        filter.children = value == "true";
        return true;
    }
    if (name == "worker_id") return SetId<WorkerId>(name, value, filter.worker);
    if (name == "type") return SetName(name, value, filter.type);
    if (name == "queue") return SetName(name, value, filter.queue);
    if (name == "from") return SetTime(name, value, filter.created_from);
    if (name == "to") return SetTime(name, value, filter.created_to);
    if (name != "status") return SetSearch(filter.words, name, value);
    auto statuses = ParseStatuses(value);
    if (!statuses) return std::unexpected(std::move(statuses.error()));
    filter.statuses = std::move(*statuses);
    return true;
}

Result<ExecutionQuery> QueryExecutions(const HttpRequest& request) {
    ExecutionQuery filter;
    for (const auto& [name, value] : request.QueryAll()) {
        const auto set = SetFilter(filter, name, value);
        if (!set) return std::unexpected(set.error());
    }
    if (filter.created_to != Time{} && filter.created_from >= filter.created_to) {
        return BadField("to", "must be after from; nothing can be between them");
    }
    const auto limit = QueryCount(request, "limit");
    if (!limit) return std::unexpected(limit.error());
    filter.limit = *limit;
    if (const auto cursor = request.Query("cursor")) {
        const auto serial = ParseSerialCursor(*cursor);
        if (!serial) return std::unexpected(serial.error());
        filter.before = *serial;
    }
    return filter;
}

void EndPage(JsonWriter& json, const std::optional<std::string>& next) {
    json.EndArray().Key("next_cursor");
    next ? json.Value(std::string_view(*next)) : json.Null();
    json.EndObject();
}

}  // namespace takt::internal
