// The steps of a workflow as the REST API spells them. A step has most of the fields of a task, from
// the same table (task_field.h), and those that make it a step.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/task_field.h"
#include "base/error.h"
#include "base/json.h"
#include "base/json_view.h"
#include "model/workflow.h"

namespace takt::internal {

// Steps of a task as a request has them. `own` is what makes the task itself a step: its shards.
struct WorkflowDraft {
    std::optional<std::vector<WorkflowStep>> steps;
    OnFailure on_failure = OnFailure::kStop;
    std::string_view on_failure_field;  // Under which it was given.
    WorkflowStep own;
};

// Of a draft that is being read: made of the steps that its task has so far.
WorkflowDraft& FlowOf(TaskDraft& draft);

// All fields of the task are there: its steps are put together. kInvalid names what is wrong.
// REQUIRES: name, type, queue and retries are final.
Result<void> FinishWorkflow(TaskDraft& draft);

Result<std::vector<WorkflowStep>> ReadSteps(const JsonView& value, std::string_view name,
                                            const TaskDraft& draft);
void WriteStep(JsonWriter& json, const WorkflowStep& step);
std::string StepRequestSchema();
std::string StepAnswerSchema();

namespace task_field {
// The lines of the table that make a task a workflow.
void AddFlow(std::vector<TaskField>& to);
}  // namespace task_field

}  // namespace takt::internal
