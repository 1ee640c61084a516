// TaskField: one field of a task, as the REST API spells it.
//
// The table of all of them (TaskFields, in task_fields.cc) is the one place that says what a field
// is called, what it may be, how it is read, written and taken back, and what it means. Requests,
// answers, PATCH, previews, OpenAPI, the flags of the command line and the table in docs/api.md are
// made from it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/json_view.h"
#include "base/text.h"
#include "model/execution.h"
#include "model/task.h"

namespace takt::internal {

constexpr std::size_t kTaskNameBytesMax = 200;

struct TaskLimits {
    std::size_t payload_bytes_max = 1 << 20;
    RetryPolicy retry_default;  // The rest of the policy for a task that only says max_retry.
    std::vector<std::string> own_strategies = {};  // Of the embedding program, by name.
};

// Keeps one copy of the names that tasks share: a million tasks of a dozen types hold a dozen
// texts. Forgets when another name needs the place, so strangers cannot fill it. Not for concurrent
// use.
class TextPool {
  public:
    const Text& Get(std::string_view text);

  private:
    std::array<Text, 256> texts_;
};

struct WorkflowDraft;
struct TaskReview;

// A task that is being read.
struct TaskDraft {
    NewTaskPtr task;
    std::unique_ptr<TaskOptions> options;  // Null while all are defaults.
    std::optional<bool> enabled;
    std::optional<std::uint32_t> retries_max;         // As max_retry says.
    std::optional<std::uint32_t> policy_retries_max;  // As retry_policy says.
    std::shared_ptr<WorkflowDraft> flow;              // Null while nothing was said of steps.
    std::string_view schedule_field;  // Under which name a schedule was given or taken away last.
    // By the number of the field: the name under which it was given; empty if it was not.
    std::array<std::string_view, 64> seen{};
    const TaskLimits* limits = nullptr;
    TextPool* pool = nullptr;
    TaskReview* review = nullptr;  // Null: the first mistake ends the reading.

    TaskOptions& opt();
    Recurrence& recur();  // Makes the task recurring if it is not.
    // The name under which the field was given, which may be another of its names; empty if it was
    // not.
    std::string_view SeenAs(std::string_view field) const;
};

// A task that is to be shown.
struct ShownTask {
    const Task& task;
    const FireState* state = nullptr;  // Of a recurring task; null: it runs once.
};

struct TaskField {
    enum class Kind : std::uint8_t {
        kAny,
        kOnce,       // One-off tasks only.
        kRecurring,  // Recurring tasks only.
        kReadOnly,   // Set by the scheduler; a task that was read may be sent back with it.
    };
    // How a person writes it where there is no JSON: after a flag of the command line.
    enum class Input : std::uint8_t {
        kText,
        kValue,  // A number, or else a text.
        kTruth,  // true or false.
        kJson,
        kPairs,    // NAME=VALUE, again and again.
        kList,     // One text, again and again.
        kPayload,  // JSON, @FILE or - for standard input.
    };
    using Read =
        std::function<Result<void>(TaskDraft& draft, const JsonView& value, std::string_view name)>;
    using Clear = std::function<void(TaskDraft& draft, std::string_view name)>;
    using Write =
        std::function<void(JsonWriter& json, std::string_view name, const ShownTask& view)>;

    std::string_view name;
    Kind kind = Kind::kAny;
    std::string_view about;  // One sentence.
    std::string takes;       // JSON Schema of its value in a request …
    std::string gives;       // … and in an answer.
    std::string type;        // The values that it may have, in words, for the page.
    Read read = {};          // Blames `name`, which is what the caller wrote.
    Clear clear = {};        // Back to the default.
    Write write = {};        // Key and value, or nothing where it is not set.
    std::vector<std::string_view> also = {};  // Other names for it, in requests.
    Input input = Input::kText;
    std::string_view flags = {};  // More names of its flag: "p,label".
    bool always_given = false;    // Every answer has it.
};
std::span<const TaskField> TaskFields();

// The number of the field that has this name, or has it for another one.
std::optional<std::size_t> FindTaskField(std::string_view name);
// Reads one field into the draft. kInvalid names it as the caller did.
Result<void> ReadTaskField(TaskDraft& draft, std::string_view name, const JsonView& value,
                           bool accept_read_only);

// The schemas of /openapi.json: of a task that is to be made, of a change to one, of a schedule
// that is asked about, and of a task as answers have it.
std::string TaskRequestSchema();
std::string TaskChangeSchema();
std::string PreviewSchema();
std::string TaskAnswerSchema();
// Of a task that an executor brings: the registration says its id and its executor.
std::string ExecutorTaskSchema();

}  // namespace takt::internal
