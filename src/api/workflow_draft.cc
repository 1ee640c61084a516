// The steps of a task that is being read, put together once all of its fields are known.
#include <utility>

#include "api/json_read.h"
#include "api/step_json.h"

namespace takt::internal {
namespace {

// The one step of a task with shards of its own is made of the task itself.
WorkflowStep OwnStep(const TaskDraft& draft, WorkflowStep own) {
    auto task = NewTaskPtr(new Task);
    task->name = draft.task->name;
    task->type = draft.task->type;
    task->timeout = draft.task->timeout;
    TaskOptions options;
    if (draft.options) {
        const TaskOptions& from = *draft.options;
        options.retry = from.retry;
        options.strategy = from.strategy;
        options.strategy_name = from.strategy_name;
        options.metadata = from.metadata;
        options.labels = from.labels;
        options.target = from.target;
    }
    if (!(options == TaskOptions())) task->options = std::make_unique<TaskOptions>(options);
    own.task = std::move(task);
    own.after.clear();
    return own;
}

// Whether anything was said that only many executions or steps can have.
Result<void> CheckWithoutSteps(const TaskDraft& draft) {
    for (const std::string_view name : {"parallel_max", "min_success"}) {
        if (draft.SeenAs(name).empty()) continue;
        auto noted = NoteMistake(draft, BadField(name, "needs shards or each_worker"));
        if (!noted) return noted;
    }
    if (draft.flow->on_failure_field.empty()) return {};
    return NoteMistake(draft, BadField("on_failure", "needs steps"));
}

// Fields beside steps that nothing would come of: a run is run by nobody, and what its steps need
// they say.
Result<void> RefuseBesideSteps(const TaskDraft& draft) {
    for (const std::string_view name :
         {"type", "executor", "load_balance_strategy", "min_success", "parallel_max"}) {
        const auto given = draft.SeenAs(name);
        if (given.empty()) continue;
        auto noted = NoteMistake(
            draft, BadField(given, "is for tasks without steps; here each step has its own"));
        if (!noted) return noted;
    }
    return {};
}

// The graph of the steps, and all that is wrong with it.
Result<void> PutTogether(TaskDraft& draft, std::vector<WorkflowStep> steps,
                         const Workflow::Options& options) {
    std::vector<Error> own;
    std::vector<Error>& mistakes = draft.review ? draft.review->mistakes : own;
    if (draft.review) draft.review->steps = steps;
    draft.opt().workflow = Workflow::Draw(std::move(steps), options, mistakes);
    Task probe(*draft.task);
    probe.options = std::make_unique<TaskOptions>(draft.opt());
    FindMistakes(*draft.options->workflow, probe, mistakes);
    if (draft.review && mistakes.size() > TaskReview::kMistakesMax) {
        mistakes.resize(TaskReview::kMistakesMax);
    }
    if (!own.empty()) return std::unexpected(std::move(own.front()));
    return {};
}

}  // namespace

Result<void> NoteMistake(const TaskDraft& draft, Result<void> checked) {
    if (checked || !draft.review) return checked;
    if (draft.review->mistakes.size() >= TaskReview::kMistakesMax) return checked;
    draft.review->mistakes.push_back(std::move(checked.error()));
    return {};
}

WorkflowDraft& FlowOf(TaskDraft& draft) {
    if (draft.flow) return *draft.flow;
    draft.flow = std::make_shared<WorkflowDraft>();
    const Workflow* before = draft.options ? draft.options->workflow.get() : nullptr;
    if (!before) return *draft.flow;
    draft.flow->on_failure = before->options().on_failure;
    if (before->options().short_form) {
        draft.flow->own = before->steps()[0];
    } else {
        draft.flow->steps = before->steps();
    }
    return *draft.flow;
}

Result<void> FinishWorkflow(TaskDraft& draft) {
    // A change of a task that has shards of its own is a change of its one step too.
    if (draft.options && draft.options->workflow) FlowOf(draft);
    if (!draft.flow) return {};
    WorkflowDraft& flow = *draft.flow;
    const bool own = flow.own.fans_out();
    if (!flow.steps && !own) {
        draft.opt().workflow = {};
        return CheckWithoutSteps(draft);
    }
    if (flow.steps && own) {
        auto noted =
            NoteMistake(draft, BadField("shards", "and each_worker are for tasks without steps"));
        if (!noted) return noted;
    }
    std::vector<WorkflowStep> steps;
    if (flow.steps) {
        if (auto noted = RefuseBesideSteps(draft); !noted) return noted;
        draft.task->type = Text();
        steps = std::move(*flow.steps);
    } else {
        steps.push_back(OwnStep(draft, flow.own));
    }
    return PutTogether(draft, std::move(steps),
                       {.on_failure = flow.on_failure, .short_form = !flow.steps});
}

}  // namespace takt::internal
