// Mistakes for which a workflow is refused when it is made, with a sentence for each.
#include <algorithm>
#include <string>

#include "base/json.h"
#include "base/json_view.h"
#include "model/step_decision.h"
#include "model/step_values.h"
#include "model/workflow.h"

namespace takt::internal {
namespace {

// With more steps before one than this, ways to end are not tried one by one.
constexpr std::size_t kTriedMax = 12;

// A list as it is, or an object that stands for another value.
bool MayBeList(std::string_view json) {
    if (!CheckJson(json, kAnyJson)) return true;  // Said elsewhere.
    const JsonView value(json);
    if (value.kind() != JsonView::Kind::kObject) return value.kind() == JsonView::Kind::kArray;
    JsonView::Members members(value);
    while (members.Next()) {
        if (members.key().starts_with('$')) return true;
    }
    return false;
}

class Checker {
  public:
    Checker(const Workflow& workflow, const Task& task, std::vector<Error>& mistakes)
        : workflow_(workflow), task_(task), mistakes_(mistakes), known_(mistakes.size()) {
        broken_ = std::ranges::any_of(
            mistakes, [](const Error& mistake) { return mistake.field.starts_with("steps"); });
        nameless_ = std::ranges::any_of(
            workflow.steps(), [](const WorkflowStep& step) { return step.task->name.empty(); });
    }

    void Check() {
        const std::size_t count = workflow_.steps().size();
        if (count == 0) return WrongAsAWhole("a workflow has at least one step");
        if (count > kStepsMax) {
            return WrongAsAWhole("a workflow has at most " + std::to_string(kStepsMax) +
                                 " steps, not " + std::to_string(count));
        }
        std::uint64_t children = 0;
        for (number_ = 0; number_ < count; ++number_) {
            const WorkflowStep& step = workflow_.steps()[number_];
            children += std::max<std::uint64_t>(1, step.shards);
            if (!IsBlamed()) CheckStep(step);
        }
        if (children <= kRunChildrenMax) return;
        WrongAsAWhole("all steps together have " + std::to_string(children) +
                      " executions; a run has at most " + std::to_string(kRunChildrenMax));
    }

  private:
    void CheckStep(const WorkflowStep& step) {
        Note(CheckKind(step));
        Note(CheckNumbers(step));
        CheckValues(step);
        Note(CheckBegins(step));
    }

    // Whether the step had a mistake before anything was looked at here.
    bool IsBlamed() const {
        const std::string place = "steps[" + std::to_string(number_) + "]";
        return std::any_of(mistakes_.begin(), mistakes_.begin() + std::ptrdiff_t(known_),
                           [&](const Error& mistake) { return mistake.field.starts_with(place); });
    }

    void Note(Result<void> checked) {
        if (!checked) mistakes_.push_back(std::move(checked.error()));
    }

    void WrongAsAWhole(std::string why) {
        mistakes_.push_back({ErrorCode::kInvalid, std::move(why), "steps"});
    }

    std::unexpected<Error> Wrong(std::string_view field, const std::string& why) const {
        const bool own = workflow_.options().short_form;
        const std::string path = own ? "" : "steps[" + std::to_string(number_) + "].";
        const std::string who =
            own ? "it " : "step '" + workflow_.steps()[number_].task->name.str() + "' ";
        return Fail(ErrorCode::kInvalid, who + why, path + std::string(field));
    }

    Result<void> CheckKind(const WorkflowStep& step) {
        if (step.task->type.empty() == step.named.empty()) {
            return Wrong("type", "needs a type, or the name of a task that it runs; one of them");
        }
        if (!step.named.empty() && HasOwnMeans(step)) {
            return Wrong("task",
                         "runs a task that has its own queue, priority, retries, timeout, labels, "
                         "limits and locks: change them there");
        }
        const int kinds = (step.shards > 0) + !step.for_each.empty() + step.each_worker;
        if (kinds > 1) {
            return Wrong("shards", "has more than one of shards, for_each and each_worker");
        }
        const TaskOptions& options = step.task->opt();
        if (step.each_worker && (options.concurrency_max > 0 || options.rate.count > 0)) {
            return Wrong("each_worker",
                         "runs on each worker and cannot have a concurrency or rate limit; "
                         "parallel_max bounds how many run at once");
        }
        if (step.each_worker && !options.locks.empty()) {
            return Wrong("locks", "runs on each worker and cannot declare locks");
        }
        if (const auto& held = task_.opt().locks; !held.empty()) {
            const std::string why = WhyNotHeld(held, options.locks);
            if (!why.empty()) return Wrong("locks", why);
        }
        if (WouldWaitForRun(task_.opt(), options)) {
            return Wrong("concurrency_key",
                         "has the concurrency key of its workflow, which the run holds until it "
                         "ends: it would wait for ever");
        }
        return {};
    }

    // Of a step that names a task only its place in the graph, its payload and its delay count.
    static bool HasOwnMeans(const WorkflowStep& step) {
        TaskOptions options = step.task->opt();
        options.delay = {};
        return options != TaskOptions{} || step.priority || !step.task->queue.empty() ||
               step.task->timeout != Duration(0);
    }

    Result<void> CheckNumbers(const WorkflowStep& step) {
        if (step.shards > kStepChildrenMax) {
            return Wrong("shards", "has more than " + std::to_string(kStepChildrenMax) + " shards");
        }
        if (!step.fans_out() && step.parallel_max > 0) {
            return Wrong("parallel_max", "has a parallel_max, but only one execution");
        }
        if (!step.fans_out() && step.min_success > 0) {
            return Wrong("min_success", "has a min_success, but only one execution");
        }
        if (step.shards > 0 && step.min_success > step.shards) {
            return Wrong("min_success", "can never succeed: of " + std::to_string(step.shards) +
                                            " shards " + std::to_string(step.min_success) +
                                            " cannot");
        }
        return {};
    }

    void CheckValues(const WorkflowStep& step) {
        const std::vector<bool> before = workflow_.Ancestors(number_);
        const auto check = [&](std::string_view field, const Text& json) {
            if (auto checked = CheckReferences(json); !checked) {
                return Note(
                    Wrong(field, "has a value that cannot be read: " + checked.error().detail));
            }
            ForEachReference(json, [&](const StepReference& reference) {
                Note(CheckReference(step, field, reference, before));
            });
        };
        check("payload", step.task->payload);
        check("for_each", step.for_each);
        if (!step.for_each.empty() && !MayBeList(step.for_each)) {
            Note(
                Wrong("for_each", "needs a list in for_each, or one value that stands for a list"));
        }
        if (step.condition) check("if", step.condition->value);
    }

    Result<void> CheckReference(const WorkflowStep& step, std::string_view field,
                                const StepReference& reference, const std::vector<bool>& before) {
        using Kind = StepReference::Kind;
        if (reference.kind == Kind::kItem && (step.for_each.empty() || field != "payload")) {
            return Wrong(field,
                         "refers to an $item, which only the payload of a step with for_each "
                         "has");
        }
        if (reference.kind == Kind::kInput && field != "if" && CanNotHave(reference)) {
            const std::string part = "'" + reference.pointer + "'";
            return Wrong(field, "takes " + (reference.pointer.empty() ? "all" : part) +
                                    " of the run's parameters, and there is none: give it in "
                                    "parameters, or the value a default");
        }
        if (reference.kind != Kind::kFrom) return {};
        const auto source = workflow_.Find(reference.step);
        if (!source) {
            if (nameless_) return {};
            return Wrong(field,
                         "takes a value from '" + reference.step + "', and there is no such step");
        }
        if (broken_) return {};
        if (*source == number_ || !before[*source]) {
            return Wrong(field, "takes a value from '" + reference.step +
                                    "', which need not have run before it: name it in after");
        }
        return {};
    }

    // Whether the run has no such parameter. A one-off task has those that it came with; whoever
    // triggers a recurring one may give others.
    bool CanNotHave(const StepReference& reference) const {
        if (task_.recurring() || reference.has_default) return false;
        const std::string_view given = task_.payload;
        if (given.empty()) return true;
        if (reference.pointer.empty()) return false;
        return !CheckJson(given, kAnyJson) || !AtPointer(given, reference.pointer);
    }

    // Whether there is a way for the steps before it to end after which it begins.
    Result<void> CheckBegins(const WorkflowStep& step) {
        if (broken_) return {};
        if (step.after.empty()) {
            if (step.when != When::kAnyFailed && step.when != When::kAnySuccess) return {};
            return Wrong("when",
                         "can never begin: it waits for one of the steps before it, and "
                         "there are none");
        }
        const std::vector<bool> before = workflow_.Ancestors(number_);
        std::vector<std::uint32_t> tried;
        for (std::uint32_t i = 0; i < before.size(); ++i) {
            if (before[i] && i != number_) tried.push_back(i);
        }
        const std::uint64_t ways = tried.size() <= kTriedMax ? std::uint64_t{1} << tried.size() : 1;
        for (std::uint64_t failing = 0; failing < ways; ++failing) {
            if (Begins(before, tried, failing)) return {};
        }
        if (tried.size() > kTriedMax) return {};
        return Wrong("when", "can never begin, however the steps before it end");
    }

    bool Begins(const std::vector<bool>& before, const std::vector<std::uint32_t>& tried,
                std::uint64_t failing) const {
        RunProgress progress = NewProgress(workflow_);
        for (const std::uint32_t step : workflow_.order()) {
            if (!before[step]) continue;
            const StepDecision decision = DecideBegin(workflow_, progress, step);
            if (step == number_) return decision.what == StepDecision::What::kBegin;
            const auto place = std::ranges::find(tried, step) - tried.begin();
            const bool fails = failing >> place & 1;
            StepProgress& state = progress.steps[step];
            if (decision.what == StepDecision::What::kBegin) {
                state.status = fails ? StepStatus::kFailed : StepStatus::kSuccess;
            } else {
                state.status = StepStatus::kSkipped;
                state.by_failure = decision.by_failure;
            }
        }
        return false;
    }

    const Workflow& workflow_;
    const Task& task_;
    std::vector<Error>& mistakes_;
    std::size_t known_;    // Of the mistakes: those that were found before.
    bool broken_ = false;  // Some of them are mistakes of steps: the graph may lack links.
    bool nameless_ = false;
    std::uint32_t number_ = 0;
};

}  // namespace

std::string WhyNotHeld(std::span<const LockWant> held, std::span<const LockWant> declared) {
    for (const LockWant& want : declared) {
        const auto own = std::ranges::find(held, want.name, &LockWant::name);
        if (own == held.end()) {
            return "declares lock '" + want.name.str() +
                   "', which its workflow does not: a workflow that holds locks names those of all "
                   "its steps, and has them from its start";
        }
        if (own->permits >= want.permits) continue;
        return "declares " + std::to_string(want.permits) + " permits of lock '" + want.name.str() +
               "', of which its workflow has " + std::to_string(own->permits);
    }
    return {};
}

void FindMistakes(const Workflow& workflow, const Task& task, std::vector<Error>& mistakes) {
    Checker(workflow, task, mistakes).Check();
}

}  // namespace takt::internal
