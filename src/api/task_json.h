// Tasks as the REST API spells them.
//
// task_field.h has the table of their fields; here are tasks as a whole.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "api/task_field.h"
#include "base/error.h"
#include "base/json.h"
#include "base/json_view.h"
#include "base/text.h"
#include "model/execution.h"
#include "model/task.h"

namespace takt::internal {

// A strategy of the embedding program's own is "custom:its-name".
constexpr std::string_view kOwnStrategyPrefix = "custom:";
std::string StrategyText(Strategy strategy, std::string_view own_name);

struct ReadTaskOptions {
    const Task* base = nullptr;  // What to change; else a new task.
    bool accept_read_only = false;
    // A recurring task that would never fire if it were made now is refused; 0: the engine decides,
    // which knows whether the task exists and since when.
    Time now{};
    // All mistakes go there, as far as one does not hide another; the first is answered too.
    TaskReview* review = nullptr;
};

struct TaskRequest {
    NewTaskPtr task;
    std::optional<bool> enabled;
};

// The task that a JSON object asks for. kInvalid names the field at fault. null is the default.
Result<TaskRequest> ReadTask(const JsonView& object, const TaskLimits& limits, TextPool& pool,
                             const ReadTaskOptions& options = {});

// `max_retry` becomes part of the retry policy, once both are known.
void ApplyMaxRetry(TaskDraft& draft);

// When a task would fire, from the fields of a task that say so; its others are passed over, so that
// a task may be sent whole. `other` is asked first about each.
using OtherField =
    std::function<Result<bool>(std::string_view name, const JsonView& value)>;  // False: unknown.
Result<Recurrence> ReadRecurrence(const JsonView& object, const TaskLimits& limits, TextPool& pool,
                                  const OtherField& other);

// A recurring task. `id` comes first.
void WriteTask(JsonWriter& json, const TaskRow& row);
// A one-off task, which shares its id and its record with its execution.
void WriteOnceTask(JsonWriter& json, const Execution& execution);

// Text that claims to be JSON; written as a JSON string if it is not.
void WriteJsonText(JsonWriter& json, std::string_view text);

}  // namespace takt::internal
