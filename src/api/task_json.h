// Tasks as the REST API spells them.
//
// One table (TaskFields) names every field, how it is read and what it means; reading, the hints
// for misspelt names and the OpenAPI schema all come from it.
#pragma once

#include <array>
#include <bitset>
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

struct TaskLimits {
    std::size_t payload_bytes_max = 1 << 20;
    RetryPolicy retry_default;  // What a task that only says max_retry gets beside it.
    std::vector<std::string> own_strategies = {};  // Of the embedding program, by name.
};

constexpr std::size_t kTaskNameBytesMax = 200;

// A strategy of the embedding program's own is "custom:its-name".
constexpr std::string_view kOwnStrategyPrefix = "custom:";
std::string StrategyText(Strategy strategy, std::string_view own_name);

// Keeps one copy of the names that tasks share: a million tasks of a dozen types hold a dozen
// texts. Forgets when another name needs the place, so strangers cannot fill it. Not for concurrent
// use.
class TextPool {
  public:
    const Text& Get(std::string_view text);

  private:
    std::array<Text, 256> texts_;
};

// A task that is being read.
struct TaskDraft {
    NewTaskPtr task;
    std::unique_ptr<TaskOptions> options;  // Null while all are defaults.
    std::optional<bool> enabled;
    std::optional<std::uint32_t> retries_max;         // As max_retry says.
    std::optional<std::uint32_t> policy_retries_max;  // As retry_policy says.
    std::string_view schedule_field;  // Under which name a schedule was given or taken away last.
    std::bitset<64> seen;             // By the number of the field.
    const TaskLimits* limits = nullptr;
    TextPool* pool = nullptr;

    TaskOptions& opt();
    Recurrence& recur();  // Makes the task recurring if it is not.
};

struct TaskField {
    enum class Kind : std::uint8_t {
        kAny,
        kOnce,       // One-off tasks only.
        kRecurring,  // Recurring tasks only.
        kReadOnly,   // Set by the scheduler; a task that was read may be sent back with it.
    };
    std::string_view name;
    std::string_view same_as;  // The name that answers use, if this is another one for it.
    Kind kind = Kind::kAny;
    std::string_view schema;  // JSON Schema.
    std::string_view about;
    Result<void> (*read)(TaskDraft& draft, const JsonView& value, std::string_view field) = nullptr;
    void (*clear)(TaskDraft& draft) = nullptr;  // Back to the default.
};
std::span<const TaskField> TaskFields();

struct ReadTaskOptions {
    const Task* base = nullptr;  // What to change; else a new task.
    bool accept_read_only = false;
    // A recurring task that would never fire if it were made now is refused; 0: the engine decides,
    // which knows whether the task exists and since when.
    Time now{};
};

struct TaskRequest {
    NewTaskPtr task;
    std::optional<bool> enabled;
};

// The task that a JSON object asks for. kInvalid names the field at fault. null is the default.
Result<TaskRequest> ReadTask(const JsonView& object, const TaskLimits& limits, TextPool& pool,
                             const ReadTaskOptions& options = {});

// When a task would fire, from the fields of a task that say so. `other` is asked about the others.
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
