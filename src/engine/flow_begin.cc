// A run begins, and its steps begin one after the other.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/failpoint.h"
#include "engine/engine.h"
#include "engine/run_values.h"
#include "model/step_decision.h"

namespace takt::internal {
namespace {

// A step's record has room for the names of its workers up to here.
constexpr std::size_t kRecordBytes = 60u << 10;

// For tests of the tests.
RunProgress WithoutCursors(const Run& run) {
    RunProgress progress = run.progress;
    for (StepProgress& step : progress.steps) step.cursor = 0;
    return progress;
}

Text SpellOut(Run& run) {
    if (TAKT_MUTANT("engine.forget_cursor")) return Text(EncodeProgress(WithoutCursors(run)));
    // A run that has only begun is one of many that wait: nothing is remembered for it.
    if (run.steps.size() < 2 || !IsOver(run.progress.steps[run.workflow->order()[0]].status)) {
        return Text(EncodeProgress(run.progress));
    }
    run.over.resize(run.steps.size());
    return Text(EncodeProgress(run.progress, run.over));
}

// A step that asks for the concurrency key of a run that it is part of would wait for ever.
Result<void> CheckKey(const Run& run, const Task& task) {
    for (const Run* at = &run; at; at = at->parent) {
        if (!WouldWaitForRun(at->live->row.task->opt(), task.opt())) continue;
        return Fail(ErrorCode::kInvalid, "its task asks for the concurrency key '" +
                                             task.opt().concurrency_key.str() +
                                             "', which the run holds until it ends");
    }
    return {};
}

}  // namespace

// A run needs no worker: it begins as soon as it has its turn, its permit and its locks. The limits of
// its queue are for what workers run: its steps.
void Engine::AwaitRoom(Live& run) {
    Hold* limit = holds_.LimitOf(run);
    if (!limit) {
        if (HasLocks(run)) BeginRun(run);
        return;
    }
    holds_.Add(run, *limit, locks_.Keeps(run));
    WatchForCircle(run);
    if (holds_.IsOpen(*limit)) holds_.WakeSoon(*limit);
}

void Engine::BeginRun(Live& live) {
    LeaveList(live);
    due_.Remove(live);
    --live.lane->queue->waiting;
    holds_.TakePermit(live);
    kept_doubtful_ = kept_doubtful_ || live.has_permit;
    MoveTo(live, Status::kRunning);
    TakeLocks(live);
    Run& run = *live.flow;
    live.row.started_at = now_.wall;
    live.row.worker = {};
    SetRunTimeout(live);
    WriteRow(run);
    Emit(EventType::kTaskStarted, live);
    DecideSteps(run);
}

void Engine::SetRunTimeout(Live& live) {
    // That of a task with shards is each shard's.
    if (live.flow->workflow->options().short_form) return;
    // All was done in time; only its result is still to be put together.
    if (live.flow->all_over()) return;
    const Duration timeout = live.row.task->timeout;
    if (timeout <= Duration(0)) return;
    // The time that has passed is known by the wall clock of whoever began it: no more than all of it,
    // and not by a clock that may be ahead, since an end cannot be undone.
    const Duration passed =
        std::clamp(clock_.undoubted() - live.row.started_at, Duration(0), timeout);
    overdue_.Set(live, now_.steady + (timeout - passed), live.row.serial);
}

// The run's row says what its state is in short; its progress, which comes with it, says it all.
void Engine::WriteRow(Run& run) {
    run.live->row.progress = Text(EncodeProgressHead(run.progress));
    Write(*run.live, Place::kLive, true);
    WriteRun(run);
}

// One step of the engine may change a run in many places: its progress is spelled when all is decided.
// Its place in the batch is counted now, so that the step knows how much it has made.
void Engine::WriteRun(Run& run) {
    draft_.MakeUrgent();
    if (std::exchange(run.unwritten, true)) return;
    unwritten_.push_back(&run);
    draft_.Spend(run.record_bytes);
    if (!draft_.InBatch(run.mark)) draft_.Reserve();
}

// Progress goes along with a child that this batch makes, if there is one: so that a run whose steps
// follow each other has no record at all.
void Engine::SpellRuns() {
    for (Run* run : unwritten_) {
        run->unwritten = false;
        Live* child = std::exchange(run->fresh, nullptr);
        // One that has ended has its progress in its row.
        if (run->live->finished) continue;
        Text progress = SpellOut(*run);
        run->record_bytes = progress.size();
        if (!child && run->carrier && draft_.InBatch(run->carrier->mark)) child = run->carrier;
        if (progress.size() > kCarriedBytesMax) child = nullptr;
        CarryBy(*run, child, progress);
        if (child) Write(*child, Place::kLive, true);
        if (child && !run->recorded) continue;
        run->recorded = !child;
        draft_.Put(run->mark, RecordPut{RecordKind::kRun, run->live->row.id.text(),
                                        child ? Text() : std::move(progress)});
    }
    unwritten_.clear();
}

void Engine::MoveRun(Run& run) {
    if (std::exchange(run.moving, true)) return;
    moving_.push_back(run.live->row.id);
}

// Goes through the runs that have something to do, each in its turn.
void Engine::ContinueRuns() {
    while (!draft_.Tired() && !moving_.empty()) {
        Live* live = FindLive(moving_.front());
        moving_.pop_front();
        if (!live || !IsRun(*live) || !live->flow->moving) continue;
        live->flow->moving = false;
        ContinueRun(*live->flow);
    }
}

void Engine::ContinueRun(Run& run) {
    if (!EndChildren(run)) return;
    for (std::uint32_t step = 0; step < run.steps.size() && !run.live->finished; ++step) {
        if (draft_.Tired()) return MoveRun(run);
        const StepStatus status = run.progress.steps[step].status;
        if (status == StepStatus::kReady) BeginStep(run, step);
        if (run.live->finished) return;
        if (run.progress.steps[step].status == StepStatus::kRunning) MakeChildren(run, step);
    }
    // Its last child ended in an earlier step; since then its result has been asked for.
    if (!run.live->finished && run.all_over() && run.children.empty()) FinishRun(run);
    DropResults(run);
}

// --- Steps --------------------------------------------------------------------------------------

// Something has changed in the run: steps begin or are skipped, and if nothing is left it ends.
void Engine::DecideSteps(Run& run) {
    // Steps that clean up begin after all that went on has ended.
    if (run.ending() && !run.children.empty()) {
        WriteRun(run);
        return MoveRun(run);
    }
    if (run.ending()) run.progress.ending->cleaning = true;
    bool left = false;
    for (const std::uint32_t number : run.workflow->order()) {
        StepProgress& step = run.progress.steps[number];
        if (step.status == StepStatus::kWaiting) {
            StepDecision decision = DecideBegin(*run.workflow, run.progress, number);
            if (TAKT_MUTANT("engine.forget_waiting") &&
                decision.what == StepDecision::What::kWait) {
                decision.what = StepDecision::What::kBegin;
            }
            if (decision.what == StepDecision::What::kBegin) {
                step.status = StepStatus::kReady;
                MoveRun(run);
            } else if (decision.what == StepDecision::What::kSkip) {
                EndStep(run, number, StepStatus::kSkipped);
                step.by_failure = decision.by_failure;
                step.note = decision.why;
            }
        }
        // A leader before may have died between the end of its last child and its own.
        const bool stops = step.status == StepStatus::kStopping;
        if (stops && run.steps[number].unfinished == 0) EndIdleStep(run, number);
        left = left || !IsOver(step.status);
    }
    WriteRun(run);
    if (!left && run.children.empty()) FinishRun(run);
}

void Engine::EndStep(Run& run, std::uint32_t number, StepStatus status) {
    StepProgress& step = run.progress.steps[number];
    step.status = status;
    step.finished_at = now_.wall;
    step.workers.clear();
    run.steps[number].DropItems();
}

// A step whose turn it is begins, if the values that it needs are there.
void Engine::BeginStep(Run& run, std::uint32_t number) {
    if (!GatherValues(run, number)) return;
    const auto holds = ConditionHolds(run, number);
    if (holds && !*holds) {
        EndStep(run, number, StepStatus::kSkipped);
        run.progress.steps[number].note = "its if does not hold";
        return DecideSteps(run);
    }
    StepProgress& progress = run.progress.steps[number];
    const auto total = holds ? CountChildren(run, number) : std::unexpected(holds.error());
    progress.status = StepStatus::kRunning;
    progress.started_at = now_.wall;
    progress.rounds.push_back(run.progress.round);
    // Of another number, what succeeded before was something else.
    if (!total || *total != progress.total)
        progress = {.status = progress.status,
                    .rounds = {run.progress.round},
                    .workers = progress.workers,
                    .started_at = now_.wall};
    progress.total = total.value_or(1);
    CountInOutermost(run, progress.total - progress.success);
    if (!total) {
        MakeRefused(run, number, Reason::kStepRefused, Text(total.error().detail));
        return;
    }
    if (run.step(number).backfill) TakeDueTimes(run, number);
    if (progress.total > 0) return WriteRun(run);
    EndStep(run, number, StepStatus::kSuccess);
    progress.note = "its list is empty";
    DecideSteps(run);
}

void Engine::CountInOutermost(Run& run, std::uint32_t count) {
    Run& outermost = run.outermost();
    outermost.progress.children += count;
    WriteRun(outermost);
}

// How many children the step has; kInvalid if it cannot have them.
Result<std::uint32_t> Engine::CountChildren(Run& run, std::uint32_t number) {
    const WorkflowStep& step = run.step(number);
    std::uint32_t total = std::max(1u, step.shards);
    if (!step.for_each.empty()) {
        if (auto listed = ListItems(run, number); !listed) return std::unexpected(listed.error());
        total = static_cast<std::uint32_t>(run.steps[number].items()->items.size());
    }
    if (step.each_worker) {
        const auto workers = ListWorkers(run, number);
        if (!workers) return std::unexpected(workers.error());
        total = *workers;
    }
    if (!step.named.empty()) {
        if (auto checked = CheckNamed(run, step); !checked) return std::unexpected(checked.error());
    }
    const Task& task = *TaskOfStep(run, number);
    if (auto checked = CheckKey(run, task); !checked) return std::unexpected(checked.error());
    if (run.outermost().progress.children + total > kRunChildrenMax) {
        return Fail(ErrorCode::kInvalid, "the run would have more than " +
                                             std::to_string(kRunChildrenMax) + " executions");
    }
    return total;
}

// The step names a task; it is taken as it stands now.
Result<void> Engine::CheckNamed(Run& run, const WorkflowStep& step) {
    const auto found = tasks_.find(step.named);
    if (found == tasks_.end()) {
        return Fail(ErrorCode::kInvalid, "there is no recurring task '" + step.named.str() + "'");
    }
    const Task& task = *found->second->row.task;
    if (task.workflow() && run.progress.depth >= kRunDepthMax) {
        return Fail(ErrorCode::kInvalid,
                    "runs are nested deeper than " + std::to_string(kRunDepthMax));
    }
    for (const Run* at = &run; at && task.opt().mode == Mode::kSequential; at = at->parent) {
        if (at->live->recurring != found->second.get()) continue;
        return Fail(ErrorCode::kInvalid, "'" + step.named.str() +
                                             "' runs one at a time, and the run that this step is "
                                             "part of is one of its runs");
    }
    return {};
}

// The workers of an each_worker step are fixed when it begins.
Result<std::uint32_t> Engine::ListWorkers(Run& run, std::uint32_t number) {
    StepProgress& progress = run.progress.steps[number];
    progress.workers.clear();
    for (const Slot* slot : LaneFor(*TaskOfStep(run, number)).crew().members()) {
        if (slot->row.status == WorkerStatus::kOnline) {
            progress.workers.push_back(slot->row.id.text());
        }
    }
    if (progress.workers.size() > kStepWorkersMax) {
        return Fail(ErrorCode::kInvalid, std::to_string(progress.workers.size()) +
                                             " workers serve it; each_worker takes at most " +
                                             std::to_string(kStepWorkersMax));
    }
    if (progress.workers.empty()) {
        return Fail(ErrorCode::kInvalid, "no worker that is online serves it");
    }
    if (EncodeProgress(run.progress).size() > kRecordBytes) {
        return Fail(ErrorCode::kInvalid, "the names of its workers are too long to be kept");
    }
    return static_cast<std::uint32_t>(progress.workers.size());
}

}  // namespace takt::internal
