// Steps as tests write them, in one line each.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/workflow.h"

namespace takt::internal {

struct StepSpec {
    std::string name;
    std::vector<Text> after = {};
    When when = When::kAllSuccess;
    std::string type = "work";
    std::string payload = {};
    std::uint32_t shards = 0;
    std::string for_each = {};
    bool each_worker = false;
    std::uint32_t parallel_max = 0;
    std::uint32_t min_success = 0;
    std::string named = {};
    std::optional<StepCondition> condition = {};
    std::optional<RetryPolicy> retry = {};
    std::string concurrency_key = {};
    Duration timeout{0};
    Duration delay{0};
    std::vector<LockWant> locks = {};
};

inline WorkflowStep MakeStep(StepSpec spec) {
    auto task = NewTaskPtr(new Task);
    task->name = spec.name;
    task->type = spec.named.empty() ? Text(spec.type) : Text();
    task->payload = spec.payload;
    task->timeout = spec.timeout;
    auto options = std::make_unique<TaskOptions>();
    options->retry = spec.retry;
    options->delay = spec.delay;
    options->locks = std::move(spec.locks);
    options->concurrency_key = spec.concurrency_key;
    if (!spec.concurrency_key.empty()) options->concurrency_max = 1;
    if (*options != TaskOptions{}) task->options = std::move(options);
    WorkflowStep step;
    step.task = std::move(task);
    step.named = spec.named;
    step.after = std::move(spec.after);
    step.when = spec.when;
    step.condition = std::move(spec.condition);
    step.shards = spec.shards;
    step.for_each = spec.for_each;
    step.each_worker = spec.each_worker;
    step.parallel_max = spec.parallel_max;
    step.min_success = spec.min_success;
    return step;
}

inline Result<WorkflowPtr> TryWorkflow(std::vector<StepSpec> specs,
                                       OnFailure on_failure = OnFailure::kStop) {
    std::vector<WorkflowStep> steps;
    for (StepSpec& spec : specs) steps.push_back(MakeStep(std::move(spec)));
    return Workflow::Make(std::move(steps), {.on_failure = on_failure});
}

inline WorkflowPtr MakeWorkflow(std::vector<StepSpec> specs,
                                OnFailure on_failure = OnFailure::kStop) {
    return TryWorkflow(std::move(specs), on_failure).value();
}

}  // namespace takt::internal
