// Runs under a new leader, runs that are run again, and runs as others see them.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/failpoint.h"
#include "engine/engine.h"
#include "model/step_decision.h"

namespace takt::internal {

// Why a stored run or child is impossible to go on with; null if it is not. A run comes before
// its children: its serial is lower, and its record came before all executions.
const char* Engine::ReadFlow(const Execution& row, std::optional<RunProgress>& progress) {
    if (const Workflow* workflow = row.task->workflow()) {
        const auto record = stored_runs_.find(row.id.text());
        // One that is to be run again brings its progress along. That of one that goes on may be
        // with a child, which comes later.
        Text stored = row.status == Status::kRunning ? Text() : row.progress;
        if (record != stored_runs_.end()) {
            if (row.status == Status::kRunning) stored = record->second;
            stored_runs_.erase(record);
        }
        if (!stored.empty()) {
            auto read = DecodeProgress(stored, workflow->steps().size());
            if (!read) return "what is stored of its steps cannot be read";
            progress = std::move(*read);
            if (TAKT_MUTANT("engine.forget_ending_on_load")) progress->ending.reset();
        }
    }
    if (row.parent.empty()) return nullptr;
    const Live* parent = FindLive(row.parent);
    if (!parent || !IsRun(*parent)) return "its run is not there";
    return parent->flow->workflow->Find(row.step) ? nullptr : "its run has no such step";
}

// REQUIRES: ReadFlow found nothing wrong.
void Engine::JoinFlow(Live& live, std::optional<RunProgress> progress) {
    if (progress) {
        live.flow->progress = std::move(*progress);
        live.flow->recorded = live.row.status == Status::kRunning;
    }
    if (live.row.parent.empty()) return;
    Run& run = *FindLive(live.row.parent)->flow;
    const std::uint32_t number = run.workflow->Find(live.row.step).value();
    LinkChild(run, number, live);
    ShareTask(run, number, live);
    if (TAKT_MUTANT("engine.old_progress_on_load") && !live.row.progress.empty())
        run.recorded = false;
    if (!IsRun(live)) TakeCarried(run, live);
    if (TAKT_MUTANT("engine.forget_ending_on_load")) run.progress.ending.reset();
}

// A run that was going on goes on.
void Engine::PlaceRun(Live& live) {
    if (live.recurring && !live.forced) holds_.TakeTurnAgain(live, *live.recurring->turns);
    if (!TAKT_MUTANT("engine.forget_limits_on_load")) holds_.TakePermitAgain(live);
    if (!TAKT_MUTANT("engine.forget_run_locks_on_load")) locks_.Adopt(live);
    SetRunTimeout(live);
    const bool known = live.flow->recorded || live.flow->carrier;
    // Of a child that cannot be read nobody knows what became of it, nor what it knew of the run.
    if (known && !live.flow->blind) return MoveRun(*live.flow);
    EndRun(*live.flow, {.status = Status::kFailed,
                        .reason = Reason::kUndecodable,
                        .message = "nothing is stored of its steps, or some of it cannot be read",
                        .data = {}});
}

// An operator runs a run again: what has no success is made anew, in a new round.
void Engine::RetryRun(const Redrive& redrive, Execution row) {
    const Workflow& workflow = *row.task->workflow();
    auto progress = DecodeProgress(row.progress, workflow.steps().size());
    if (!progress) {
        return draft_.Reply(redrive.request,
                            Fail(ErrorCode::kConflict,
                                 "what is stored of the steps of this run cannot be read; submit "
                                 "its task again"));
    }
    if (auto begun = BeginRound(workflow, redrive.steps, *progress); !begun) {
        return draft_.Reply(redrive.request, std::unexpected(begun.error()));
    }
    const Status before = std::exchange(row.status, Status::kPending);
    row.ready_at = now_.wall;
    if (row.origin != Origin::kFire) row.scheduled_at = now_.wall;
    row.finished_at = row.started_at = {};
    row.outcome = nullptr;
    row.progress = Text(EncodeProgress(*progress));
    Live& live = InsertExecution(std::move(row), Place::kHistory);
    live.flow->progress = std::move(*progress);
    if (IsOwned(live.row)) Link(live, OwnerOf(live.row.task));
    claims_.Hold(live.row, clock_.trusted(), draft_);
    Write(live, Place::kLive, true);
    TellRedriven(redrive, live, before);
    AwaitTime(live);
    draft_.Reply(redrive.request, Answer{.execution = live.row});
}

std::optional<RunView> Engine::FindRun(const ExecutionId& id) const {
    const Live* live = FindLive(id);
    if (!live || !IsRun(*live)) return std::nullopt;
    const Run& run = *live->flow;
    RunView view{.execution = live->row, .progress = run.progress, .steps = {}};
    view.steps.resize(run.steps.size());
    for (const Live* child : run.children) {
        StepView& step = view.steps[child->step];
        ++(IsWaiting(child->row.status) ? step.waiting : step.running);
    }
    return view;
}

// --- Steps that run on each worker --------------------------------------------------------------

void Engine::AwaitWorker(Live& live) {
    const auto found = workers_.find(live.row.worker.text());
    if (found == workers_.end() || found->second->gone ||
        found->second->row.status == WorkerStatus::kOffline) {
        Unqueue(live);
        return EndPinned(live);
    }
    Slot& slot = *found->second;
    slot.pinned.PushBack(live);
    live.waits = Waits::kPinned;
    FeedPinned(slot);
}

// Its worker is gone and nobody else can run it.
void Engine::EndPinned(Live& live) {
    const bool begun = live.row.attempt > 0;
    FinishExecution(live, begun ? Status::kFailed : Status::kSkipped,
                    MakeOutcome(begun ? Reason::kWorkerLost : Reason::kWorkerGone,
                                begun ? "its worker was lost, and no other one may run it"
                                      : "its worker went away before it began"));
}

// Gives a worker what waits for it and no other; false if the step is tired.
bool Engine::FeedPinned(Slot& slot) {
    for (Live* live = slot.pinned.front(); live && (slot.gone || slot.can_take);) {
        if (draft_.Tired()) {
            ContinueLater(slot);
            return false;
        }
        if (!slot.gone && !live->lane->queue->Open(now_.steady)) {
            live = live->next;
            continue;
        }
        if (slot.gone) {
            Unqueue(*live);
            EndPinned(*live);
        } else if (!EndIfExpired(*live) && MayBegin(*live)) {
            GiveTo(*live, slot);
        }
        live = slot.pinned.front();
    }
    return true;
}

}  // namespace takt::internal
