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

// The mistakes of a task that is only looked at, and its steps as far as they could be read.
struct TaskReview {
    // Enough for anybody to begin with, and a bound on what a stranger can have us say.
    static constexpr std::size_t kMistakesMax = 100;

    std::vector<Error> mistakes;
    std::vector<WorkflowStep>
        steps;  // As many as the request has; one without a name was unreadable.
};

// A mistake is kept if the task is only looked at, and the reading goes on; else, and after too many
// of them, it is the answer.
Result<void> NoteMistake(const TaskDraft& draft, Result<void> checked);

// Of a draft that is being read: made of the steps that its task has so far.
WorkflowDraft& FlowOf(TaskDraft& draft);

// All fields of the task are there: its steps are put together. kInvalid names what is wrong.
// REQUIRES: name, type, queue and retries are final.
Result<void> FinishWorkflow(TaskDraft& draft);

Result<std::vector<WorkflowStep>> ReadSteps(const JsonView& value, std::string_view name,
                                            const TaskDraft& draft);
// `resolved`: with after and when, also where they are the defaults.
void WriteStep(JsonWriter& json, const WorkflowStep& step, bool resolved = false);
std::string StepRequestSchema();
std::string StepAnswerSchema();

namespace task_field {
// The lines of the table that make a task a workflow.
void AddFlow(std::vector<TaskField>& to);
}  // namespace task_field

}  // namespace takt::internal
