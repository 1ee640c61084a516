// Executors as the REST API spells them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/executor_fields.h"
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

void WriteExecutor(JsonWriter& json, const WorkerView& worker, const std::optional<PushView>& view,
                   const BroughtTasks& brought = {});

}  // namespace takt::internal
