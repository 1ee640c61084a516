// Lists of recurring tasks: by words, type, queue and state, which stores have no index for.
//
// Tasks are looked at in the order of their ids, so many and so long that a call stays short; a list
// that ends early goes on by its cursor.
#pragma once

#include <string>
#include <vector>

#include "api/call_flow.h"
#include "api/search_words.h"

namespace takt::internal {

enum class TaskState : std::uint8_t { kActive, kPaused, kOver };

struct TaskQuery : TaskFilter {
    SearchWords words;
    std::optional<Text> type;
    std::optional<Text> queue;
    std::optional<TaskState> state;

    // Whether anything but the name is asked for, which the store can look for itself.
    bool searched() const { return !words.empty() || type || queue || state; }
    bool Fits(const TaskRow& row) const;
};

// name, search, metadata, type, queue, state, limit and cursor. kInvalid, naming the parameter.
Result<TaskQuery> ReadTaskQuery(const HttpRequest& request);

// The parameters of such a query, as the route table tells of them.
std::vector<RouteQuery> TaskListParameters();

// Tasks that fit, in the order of their ids, at most query.limit.
struct TaskPage {
    std::vector<TaskRow> rows;
    std::string last;   // The id of the last one that was looked at.
    bool more = false;  // Tasks behind it have not been looked at.
};
// REQUIRES: the call outlives the flow.
Flow<Result<TaskPage>> SearchTasks(const Call& call, TaskQuery query);

}  // namespace takt::internal
