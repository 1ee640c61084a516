// Executors as the REST API spells them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/task_json.h"
#include "base/json.h"
#include "base/json_view.h"
#include "engine/views.h"
#include "links/push_link.h"
#include "links/service_policy.h"
#include "model/worker.h"

namespace takt::internal {

// The words of an executor that registers: who it is, and the recurring tasks it brings.
struct Registration {
    Worker worker;
    std::vector<TaskRequest> tasks;
};

struct RegistrationRules {
    const ServicePolicy& policy;
    const TaskLimits& task_limits;
    TextPool& texts;
};

// kInvalid names the field at fault, "tasks[2].cron". A task without a schedule only names what the
// executor can run.
Result<Registration> ReadRegistration(const JsonView& object, const RegistrationRules& rules);

// The id that a task of an executor gets: readable if both names allow it, the same for all of the
// executor's instances.
TaskId ExecutorTaskId(std::string_view executor, std::string_view task_name);

// {"cpu": 0.5, "memory": 0.2, "connections": 3, "draining": false}, each optional.
Result<WorkerLoad> ReadLoad(std::string_view body);

struct StatusChange {
    WorkerStatus status{};
    Text reason;
};
// {"status": "online" | "maintenance" | "offline", "reason": "…"}
Result<StatusChange> ReadStatusChange(std::string_view body);

// The tasks that a registration brought: their names and ids.
using BroughtTasks = std::vector<std::pair<Text, Text>>;

void WriteExecutor(JsonWriter& json, const WorkerView& worker, const std::optional<PushView>& view,
                   const BroughtTasks& brought = {});
std::string ExecutorSchema();

}  // namespace takt::internal
