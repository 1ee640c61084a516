// Ends: of a child, of a step, of the run. The end of a child and the run's own state are one batch;
// that a run is to end is written before anything of it is ended.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/failpoint.h"
#include "base/utf8.h"
#include "engine/engine.h"
#include "engine/run_values.h"
#include "model/step_decision.h"

namespace takt::internal {
namespace {

// Of a run so many steps tell of the child that failed first, and this much of what that said: the
// progress of a run is written often.
constexpr std::ptrdiff_t kCausesMax = 10;
constexpr std::size_t kCauseBytesMax = 300;

// The first child of a step that fails says why the step does, and with it the run.
void NoteCause(Run& run, const Live& child) {
    StepProgress& step = run.progress.steps[child.step];
    const auto failed = [](const StepProgress& one) { return one.failed > 0; };
    if (!step.note.empty() || std::ranges::count_if(run.progress.steps, failed) > kCausesMax)
        return;
    const std::string_view message = child.row.outcome ? child.row.outcome->message.view() : "";
    std::string cause = "'" + child.row.id.text().str() + "'";
    if (!message.empty()) cause += ": " + std::string(message);
    step.note = Text(CutUtf8(cause, kCauseBytesMax));
}

}  // namespace

// Whether an execution may not start any more, since its run ends or its step has what it needs.
bool Engine::MayNotStart(const Live& live) const {
    const Run* run = ParentOf(live);
    if (!run || TAKT_MUTANT("engine.start_in_ended_runs")) return false;
    for (const Run* at = run; at; at = at->parent) {
        if (at->ending()) return true;
    }
    return run->progress.steps[live.step].status == StepStatus::kStopping;
}

// A child of the run has ended; its row says how.
void Engine::OnChildEnded(Run& run, Live& live) {
    run.children.back()->child = live.child;
    run.children[live.child] = run.children.back();
    run.children.pop_back();
    if (run.fresh == &live) run.fresh = nullptr;
    if (run.carrier == &live) run.carrier = nullptr;
    const std::uint32_t number = live.step;
    StepProgress& step = run.progress.steps[number];
    --run.steps[number].unfinished;
    const ChildPlace place{number, live.row.shard_index, live.row.round};
    switch (live.row.status) {
        case Status::kSuccess:
            ++step.success;
            step.succeeded.Set(place.index);
            CacheResult(run, place, DataOf(live.row));
            break;
        case Status::kFailed:
            ++step.failed;
            NoteCause(run, live);
            break;
        case Status::kSkipped:
            ++step.skipped;
            break;
        default:
            ++step.cancelled;
            break;
    }
    WriteRun(run);
    OnStepMoved(run, number);
}

// A child of the step has ended: the step may be over, or go on with the next.
void Engine::OnStepMoved(Run& run, std::uint32_t number) {
    StepProgress& step = run.progress.steps[number];
    const StepVerdict verdict = DecideEnd(run.step(number), step);
    const bool idle = run.steps[number].unfinished == 0;
    if (step.status == StepStatus::kRunning) {
        if (verdict == StepVerdict::kGoesOn ||
            (verdict == StepVerdict::kDoomed && !StopsAtFailure(run))) {
            if (WorthMaking(run, number)) MoveRun(run);
            return;
        }
        if (verdict == StepVerdict::kDoomed) return StopAfter(run, number);
        // Enough have succeeded: those that go on are not needed any more.
        step.status = StepStatus::kStopping;
        if (!idle) return MoveRun(run);
    }
    if (!idle) return;
    EndIdleStep(run, number);
    const bool succeeded = step.status == StepStatus::kSuccess;
    if (!succeeded && StopsAtFailure(run)) return StopAfter(run, number);
    DecideSteps(run);
}

// The step is to end, and nothing of it goes on any more.
void Engine::EndIdleStep(Run& run, std::uint32_t number) {
    StepProgress& step = run.progress.steps[number];
    const bool succeeded = DecideEnd(run.step(number), step) == StepVerdict::kSucceeded;
    const bool deserted = !succeeded && run.step(number).each_worker && step.total > 0 &&
                          step.success + step.failed + step.cancelled == 0;
    if (succeeded) step.note = {};  // Of a child that was not needed.
    if (deserted) step.note = "every worker that it was for went away before it began";
    EndStep(run, number,
            succeeded                     ? StepStatus::kSuccess
            : step.failed > 0 || deserted ? StepStatus::kFailed
                                          : StepStatus::kCancelled);
    step.by_failure =
        !succeeded && run.progress.ending && run.progress.ending->reason == Reason::kStepFailed;
}

void Engine::StopAfter(Run& run, std::uint32_t number) {
    EndRun(run, {.status = Status::kFailed,
                 .reason = Reason::kStepFailed,
                 .message = Text(DescribeFailure(*run.workflow, run.progress, number)),
                 .data = {}});
}

// The run is to end so. That is written first; from now on nothing of it starts, and what goes on is
// ended, a bounded number a step.
void Engine::EndRun(Run& run, RunEnding ending) {
    // Another end of a run that is ending already changes nothing, but may cut its clean-up short.
    const bool cleans = run.progress.ending && run.progress.ending->reason == Reason::kStepFailed &&
                        ending.reason != Reason::kStepFailed;
    if (run.progress.ending && !cleans) return;
    run.progress.ending = std::move(ending);
    Emit(EventType::kTaskEnding, *run.live, Text(Name(run.progress.ending->status)));
    const bool failed = run.progress.ending->reason == Reason::kStepFailed;
    for (std::uint32_t number = 0; number < run.steps.size(); ++number) {
        StepProgress& step = run.progress.steps[number];
        if (step.status == StepStatus::kReady) {
            EndStep(run, number, StepStatus::kSkipped);
            step.by_failure = failed;
            step.note = failed ? "another step failed" : "the run was ended";
        } else if (step.status == StepStatus::kRunning) {
            step.status = StepStatus::kStopping;
            if (run.steps[number].unfinished > 0) continue;
            EndStep(run, number, step.failed > 0 ? StepStatus::kFailed : StepStatus::kCancelled);
            step.by_failure = failed;
        }
    }
    WriteRow(run);
    DecideSteps(run);
}

// Ends the children that have to, as many as one step may; true if none of those is left.
bool Engine::EndChildren(Run& run) {
    const bool all = run.ending();
    const auto has_to = [&](const Live& child) {
        if (IsEnding(child)) return false;  // It is being ended already.
        if (all) return true;
        return run.progress.steps[child.step].status == StepStatus::kStopping;
    };
    const bool any = all || std::ranges::any_of(run.progress.steps, [](const StepProgress& step) {
                         return step.status == StepStatus::kStopping;
                     });
    // Looks anew after each: whoever ends one may feed a worker, and so end others.
    for (std::size_t i = 0; any && i < run.children.size();) {
        Live& child = *run.children[i];
        if (!has_to(child)) {
            ++i;
            continue;
        }
        if (draft_.Tired()) {
            MoveRun(run);
            return false;
        }
        EndNow(child, Status::kCancelled, WhyNotStarted(child));
        if (run.live->finished) return false;
    }
    return !all || run.children.empty();
}

// Nothing of the run is left. It ends at once, or when the store has said what is not in memory of its
// result.
void Engine::FinishRun(Run& run) {
    TAKT_CHECK(run.children.empty());
    const RunDecision decision = DecideRun(*run.workflow, run.progress);
    auto outcome = boost::intrusive_ptr<Outcome>(new Outcome);
    outcome->message = Text(decision.why);
    if (run.progress.ending) {
        outcome->reason = run.progress.ending->reason;
        outcome->data = run.progress.ending->data;
    } else if (decision.status == Status::kFailed) {
        outcome->reason = Reason::kStepFailed;
    } else {
        // That all is over is written by now: whoever leads when the answer comes goes on from there.
        if (!GatherResult(run)) return overdue_.Remove(*run.live);
        outcome->data = ResultOfRun(run);
    }
    FinishExecution(*run.live, decision.status, std::move(outcome));
}

// The run's execution ends: its progress goes into its row, and its record, if it has one, goes.
void Engine::CloseRun(Live& live) {
    Run& run = *live.flow;
    for (std::uint32_t number = 0; number < run.steps.size(); ++number) {
        StepProgress& step = run.progress.steps[number];
        if (IsOver(step.status)) continue;
        EndStep(run, number, StepStatus::kSkipped);
        step.note = "the run did not begin";
    }
    overdue_.Remove(live);
    live.row.progress = Text(EncodeProgress(run.progress));
    if (run.leftover) HandOver(live, *run.leftover);
    holds_.ReturnPermit(live);
    locks_.EndAttempt(live);
    if (run.recorded) {
        draft_.Put(run.mark, RecordPut{RecordKind::kRun, live.row.id.text(), Text()});
    }
}

}  // namespace takt::internal
