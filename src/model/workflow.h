// Workflow: the steps of a task that has them, and the graph that they form. Immutable and shared:
// a run, its children and the task they come from hold the same one.
//
// Values that steps take from each other are step_values.h, when it may begin and how it ends is
// step_decision.h; how far a run has come is run_progress.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "model/task.h"

namespace takt::internal {

constexpr std::size_t kStepsMax = 500;
constexpr std::uint32_t kStepChildrenMax = 10'000;
constexpr std::uint32_t kRunChildrenMax = 50'000;  // Of the outermost run, those of runs in it too.
constexpr std::uint32_t kRunDepthMax = 5;          // Runs in runs, the outermost counted.
constexpr std::uint32_t kStepUnfinishedMax = 1'000;  // Made and not finished at a time.
constexpr std::uint32_t kStepWorkersMax = 1'000;     // Of `each_worker`.

// The demand of a step on those before it. They all have to be over but for kAnySuccess and kAnyFailed,
// which begin at the first.
enum class When : std::uint8_t { kAllSuccess, kAnySuccess, kAllDone, kAnyFailed, kNoneFailed };
// The meaning of a step's failure for the others: kStop ends what goes on and begins nothing more
// but clean-up; kContinue lets everything run that can.
enum class OnFailure : std::uint8_t { kStop, kContinue };
std::string_view Name(When when);
std::string_view Name(OnFailure on_failure);
std::optional<When> ParseWhen(std::string_view name);
std::optional<OnFailure> ParseOnFailure(std::string_view name);

// `if`: the step is skipped unless both are the same JSON value.
struct StepCondition {
    Text value;  // With values to be filled in; one that is not there is null.
    Text equals;

    friend bool operator==(const StepCondition&, const StepCondition&) = default;
};

struct WorkflowStep {
    TaskPtr task;  // What its children run; `name` is the step's. Its queue is empty unless given.
    Text named;    // Runs the recurring task of this id instead, as it is when the step begins.
    std::vector<Text> after;
    When when = When::kAllSuccess;
    std::optional<StepCondition> condition;
    std::uint32_t shards = 0;  // Of the next three at most one is given; none: one child.
    Text for_each;             // JSON: a list, or a value that is one.
    bool each_worker = false;
    std::uint32_t parallel_max = 0;        // Unfinished children at a time; 0: kStepUnfinishedMax.
    std::uint32_t min_success = 0;         // 0: all of them.
    std::optional<std::uint8_t> priority;  // Else the run's.
    // Its items are past due times of `named`, in milliseconds; a child is made only for those that
    // have no execution yet.
    bool backfill = false;

    bool fans_out() const { return shards > 0 || !for_each.empty() || each_worker; }
    friend bool operator==(const WorkflowStep& a, const WorkflowStep& b);
};

class Workflow {
  public:
    struct Options {
        OnFailure on_failure = OnFailure::kStop;
        // The one step is the task's own `shards` or `each_worker`: it is shown as such.
        bool short_form = false;

        friend bool operator==(const Options&, const Options&) = default;
    };

    // kInvalid if the steps form no graph: a name comes twice or is not there, one waits for itself.
    // Whoever asks for the same again is given the same one while somebody holds it: a hundred
    // thousand runs that were submitted one by one have one.
    static Result<WorkflowPtr> Make(std::vector<WorkflowStep> steps, const Options& options);
    // The same with each reason why they form none appended to `mistakes`. The graph then lacks the
    // links that are wrong, and is there to look for further mistakes only. A step whose name could
    // not be read has none, and others may wait for it.
    static WorkflowPtr Draw(std::vector<WorkflowStep> steps, const Options& options,
                            std::vector<Error>& mistakes);

    const std::vector<WorkflowStep>& steps() const { return steps_; }
    const Options& options() const { return options_; }
    std::optional<std::uint32_t> Find(std::string_view name) const;

    // By the number of a step: what it waits for, what waits for it.
    std::span<const std::uint32_t> before(std::size_t step) const { return links_[step].before; }
    std::span<const std::uint32_t> behind(std::size_t step) const { return links_[step].behind; }
    // Steps whose results its values are taken from.
    std::span<const std::uint32_t> sources(std::size_t step) const { return links_[step].sources; }
    // Every step after all that it waits for.
    const std::vector<std::uint32_t>& order() const { return order_; }
    // Whether a result of the step may be asked for: by a later step, or as the run's own.
    bool wanted(std::size_t step) const { return links_[step].wanted; }
    // The step itself and all that lead to it.
    std::vector<bool> Ancestors(std::size_t step) const;
    // The step whose result is the run's: the only one that nothing waits for.
    std::optional<std::uint32_t> last() const;

    // As record.proto spells it. Made once, by whoever stores it first: a run's row is written several
    // times, and most of it would be this.
    const std::string& Spelled() const;

    // Bytes of its texts, for the size of a row.
    std::size_t bytes() const { return bytes_; }

    friend bool operator==(const Workflow& a, const Workflow& b) {
        return a.options_ == b.options_ && a.steps_ == b.steps_;
    }

  private:
    struct Links {
        std::vector<std::uint32_t> before;
        std::vector<std::uint32_t> behind;
        std::vector<std::uint32_t> sources;
        bool wanted = false;
    };

    void LinkSteps(std::vector<Error>& mistakes);
    void LinkStep(std::uint32_t step, const Text& name, std::optional<std::uint32_t> before,
                  std::vector<Error>& mistakes);
    void FindOrder(std::vector<Error>& mistakes);
    std::vector<std::uint32_t> FindCircle(const std::vector<std::size_t>& open) const;
    Error DescribeCircle(const std::vector<std::uint32_t>& circle) const;
    void NoteSources();

    std::vector<WorkflowStep> steps_;
    Options options_;
    std::vector<Links> links_;
    std::vector<std::uint32_t> order_;
    std::size_t bytes_ = 0;
    mutable std::once_flag spelled_once_;
    mutable std::string spelled_;
};

// Why a step that declares these locks cannot be part of a workflow that holds those; empty if it
// can. One that waited for another lock while its run holds some could wait in a circle.
std::string WhyNotHeld(std::span<const LockWant> held, std::span<const LockWant> declared);

// Appends to `mistakes` a sentence for each step that can never begin or never succeed, each value
// that can never be there, and whatever is too large. `task` is the workflow's. Mistakes that are
// known already have others in their wake, which are left out: of a step that has one, and of the
// whole graph what depends on all links being right.
void FindMistakes(const Workflow& workflow, const Task& task, std::vector<Error>& mistakes);

}  // namespace takt::internal
