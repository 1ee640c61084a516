#include "engine/run.h"

#include <algorithm>
#include <utility>

#include "base/failpoint.h"
#include "base/json_view.h"

namespace takt::internal {

Live::~Live() {
    if (IsRun(*this)) delete flow;
}

StepValues& RunStep::Values() {
    if (!values) values = std::make_unique<StepValues>();
    return *values;
}

const StepResults& RunStep::results() const {
    static const StepResults kNone;
    return values ? values->results : kNone;
}

bool Run::all_over() const {
    return std::ranges::all_of(progress.steps,
                               [](const StepProgress& step) { return IsOver(step.status); });
}

void AttachRun(Live& live) {
    const Workflow* workflow = live.row.task->workflow();
    if (!workflow) return;
    live.flow = new Run;
    live.is_run = true;
    live.flow->live = &live;
    live.flow->workflow = workflow;
    live.flow->progress = NewProgress(*workflow);
    live.flow->steps.resize(workflow->steps().size());
}

void CarryBy(Run& run, Live* child, Text progress) {
    if (run.carrier) run.carrier->row.progress = {};
    run.carrier = child;
    if (child) child->row.progress = std::move(progress);
}

// The child that was made last has the newest progress, but for a record, which is newer.
void TakeCarried(Run& run, Live& child) {
    const Text carried = std::exchange(child.row.progress, {});
    if (carried.empty() || run.recorded) return;
    auto progress = DecodeProgress(carried, run.workflow->steps().size());
    if (!progress) {
        run.blind = true;
        return;
    }
    run.progress = std::move(*progress);
    CarryBy(run, &child, carried);
}

std::uint32_t UnfinishedMax(const WorkflowStep& step) {
    if (step.parallel_max == 0) return kStepUnfinishedMax;
    return std::min(step.parallel_max, kStepUnfinishedMax);
}

// Whether a step that has room for more children makes use of it now. One whose values have to be
// asked for again waits until it is worth it.
bool WorthMaking(const Run& run, std::uint32_t number) {
    const StepProgress& progress = run.progress.steps[number];
    if (progress.status != StepStatus::kRunning || progress.cursor >= progress.total) return false;
    const RunStep& state = run.steps[number];
    const WorkflowStep& step = run.step(number);
    const bool at_hand = state.items() || step.for_each.empty();
    return at_hand ? state.unfinished < UnfinishedMax(step)
                   : state.unfinished <= UnfinishedMax(step) / 2;
}

bool StopsAtFailure(const Run& run) {
    return run.workflow->options().on_failure == OnFailure::kStop && !run.progress.ending;
}

OutcomePtr WhyNotStarted(const Live& child) {
    const bool ends = ParentOf(child)->ending();
    return MakeOutcome(Reason::kRunEnded,
                       ends ? "its run was ended" : "enough of its step have succeeded");
}

Text DataOf(const Execution& child) {
    return child.outcome && !TAKT_MUTANT("engine.forget_results") ? child.outcome->data : Text();
}

// A stored child brings a copy of its step: all children of the step hold one.
void ShareTask(Run& run, std::uint32_t number, Live& live) {
    TaskPtr& shared = run.steps[number].task;
    const Task& own = *live.row.task;
    const bool same = shared && shared->id == own.id && shared->version == own.version &&
                      shared->created_at == own.created_at;
    if (!same) {
        shared = live.row.task;
    } else if (!IsRun(live)) {
        live.row.task = shared;
    }
}

const Live* LockingRun(const Run* run) {
    const Live* holder = nullptr;
    for (; run; run = run->parent) {
        if (!run->live->row.task->opt().locks.empty()) holder = run->live;
    }
    return holder;
}

// Whether only the worker that its row names may run it.
bool IsPinned(const Live& live) {
    if (IsRun(live) || !live.flow) return false;
    return live.flow->step(live.step).each_worker;
}

// A child is run again through its run.
std::unexpected<Error> BelongsToRun(const Execution& child) {
    return Fail(ErrorCode::kConflict, "execution '" + child.id.text().str() +
                                          "' is a part of run '" + child.parent.text().str() +
                                          "': when that has ended, run it again instead; what has "
                                          "succeeded is kept");
}

// The items of its list are milliseconds.
Time DueOf(const Run& run, std::uint32_t number, std::uint32_t index) {
    const auto ms = JsonView(run.steps[number].items()->items[index]).AsInteger();
    return Time(Duration(ms.value_or(0)));
}

}  // namespace takt::internal
