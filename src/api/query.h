// Reads what stands behind the question mark.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "api/search_words.h"
#include "base/error.h"
#include "base/id.h"
#include "base/json.h"
#include "http/message.h"
#include "store/store.h"

namespace takt::internal {

constexpr std::size_t kPageMax = 1000;
constexpr std::size_t kPageDefault = 100;

struct CountRange {
    std::size_t min = 1;
    std::size_t max = kPageMax;
    std::size_t standard = kPageDefault;  // If the caller says nothing.
};
// A whole number; kInvalid, naming the parameter, if it is none or out of range.
Result<std::size_t> QueryCount(const HttpRequest& request, std::string_view name,
                               CountRange range = {});

// Cursors are opaque to callers: where a page ended.
std::string SerialCursor(Serial serial);
Result<Serial> ParseSerialCursor(std::string_view cursor);
std::string IdCursor(std::string_view id);
Result<std::string> ParseIdCursor(std::string_view cursor);

// A filter of executions: what the store looks for, and what is searched for in what it finds.
struct ExecutionQuery : ExecutionFilter {
    SearchWords words;
};

// task_id, status, worker_id, type, queue, search, metadata, parameters, from, to, limit and cursor.
Result<ExecutionQuery> QueryExecutions(const HttpRequest& request);

// One part of such a filter, by its name. False if there is no part of that name.
Result<bool> SetFilter(ExecutionQuery& filter, std::string_view name, std::string_view value);

// The end of a list: ],"next_cursor":…}
void EndPage(JsonWriter& json, const std::optional<std::string>& next);

}  // namespace takt::internal
