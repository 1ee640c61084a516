// One execution and its attempts: with a worker, failed, lost, ended.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/failpoint.h"
#include "engine/engine.h"

namespace takt::internal {

const Execution* Engine::FindExecution(const ExecutionId& id) const {
    const Live* live = FindLive(id);
    return live ? &live->row : nullptr;
}

Live* Engine::FindLive(const ExecutionId& id) const {
    return live_.Find(id.view());
}

// A worker that lost its lease may still report. Attempt number and token give it away: the
// execution has moved on, and the report must not end a newer attempt.
Live* Engine::FindCurrent(const AttemptRef& attempt) {
    Live* live = FindLive(attempt.execution);
    if (!live || !live->slot) return nullptr;
    if (TAKT_MUTANT("engine.accept_any_attempt")) return live;
    return live->row.attempt == attempt.attempt && live->row.token == attempt.token ? live
                                                                                    : nullptr;
}

Live& Engine::InsertExecution(Execution row, Place place) {
    Live& live = live_.Add(std::move(row));
    live.place = place;
    AttachRun(live);
    if (begun_) holds_.AddNamer(live.row);
    live.lane = &LaneFor(*live.row.task);
    lanes_.Use(*live.lane);
    if (IsWaiting(live.row.status)) {
        ++live.lane->queue->waiting;
    } else if (!IsRun(live)) {
        ++live.lane->queue->working;
    }
    ++counts_[static_cast<std::size_t>(live.row.status)];
    quotas_.Add(live.row);
    return live;
}

void Engine::SetTimeout(Live& live) {
    const Duration timeout = TimeoutOf(*live.row.task) + config_.timeout_grace;
    overdue_.Set(live, now_.steady + timeout, live.row.serial);
}

void Engine::GiveTo(Live& live, Slot& slot) {
    TAKT_CHECK(slot.can_take);
    LeaveList(live);
    due_.Remove(live);
    --live.lane->queue->waiting;
    ++live.lane->queue->working;
    SpendPaceOf(*live.lane->queue);
    if (trials_.IsSuspect(live.row)) {
        const auto workers = std::ranges::count_if(live.lane->crew().members(), &Slot::works);
        trials_.NoteBegun(live.row, std::size_t(workers), now_.steady);
    }
    holds_.TakePermit(live);
    kept_doubtful_ = kept_doubtful_ || live.has_permit;
    MoveTo(live, Status::kScheduled);
    Execution& row = live.row;
    ++row.attempt;
    row.epoch = term_.epoch;
    random_.Fill(row.token);
    row.worker = slot.row.id;
    row.started_at = {};
    live.slot = &slot;
    slot.hand.PushBack(live);
    RefreshCapacity(slot);
    SetTimeout(live);
    ++counters_.assigned;
    Write(live, Place::kLive, true);
    draft_.Send(Assign{slot.session, row, TimeoutOf(*row.task), TakeLocks(live)});
    Emit(EventType::kTaskScheduled, live);
}

// Takes an execution out of its worker's hand. The caller feeds the worker when all is settled.
Slot& Engine::TakeFromHand(Live& live) {
    Slot& slot = *live.slot;
    slot.hand.Remove(live);
    live.slot = nullptr;
    const bool lost = live.doubtful && slot.doubt_is_loss;
    live.doubtful = live.spared = live.open = false;
    outputs_.EndAttempt(live.row);
    overdue_.Remove(live);
    Queue& queue = *live.lane->queue;
    --queue.working;
    // Others may have waited for this place; they get it when the step has settled all else.
    if (queue.limits.working_max > 0) {
        queue.Reopen();
        queue_paces_.Set(queue, now_.steady, queue.number);
    }
    holds_.ReturnPermit(live);
    locks_.EndAttempt(live);
    RefreshCapacity(slot);
    // The next suspect is apart from all others that run, and need not wait for it.
    if (!lost) EndTrial(live);
    return slot;
}

// Its worker is gone, or never got it: somebody else has to run it.
void Engine::RequeueExecution(Live& live, bool loss) {
    const bool unsent = draft_.Withdraw(live.row, live.mark);
    loss = loss && !unsent;
    // A service that could not be called has it no more; what kept it from being called is its story.
    const bool tells = !loss && !unsent && live.slot->row.link == LinkKind::kPush;
    const Text why = tells ? live.slot->load.trouble : Text();
    const bool spared = live.spared && !TAKT_MUTANT("engine.blame_all");
    const bool open = live.open;
    TakeFromHand(live);
    live.row.outcome =
        RememberAttempt(live.row, {.end = loss ? AttemptEnd::kLost : AttemptEnd::kReturned,
                                   .reason = loss && spared && !open ? kLostBeside : Reason::kNone,
                                   .message = why.view(),
                                   .at = now_.wall});
    if (loss) {
        if (!spared && !TAKT_MUTANT("engine.forget_losses")) ++live.row.losses;
        ++counters_.lost;
        if (live.row.losses >= config_.losses_max) {
            const std::string why = "lost " + std::to_string(live.row.losses) +
                                    " workers while it ran; it may be what kills them";
            return FinishExecution(live, Status::kFailed, MakeOutcome(Reason::kWorkerLost, why));
        }
    }
    ++live.lane->queue->waiting;
    MoveTo(live, Status::kPending);
    live.row.ready_at = now_.wall;
    Write(live, Place::kLive, true);
    AwaitTime(live);
}

// An attempt failed. REQUIRES: let go.
void Engine::FailAttempt(Live& live, OutcomePtr outcome, bool retryable,
                         std::optional<Time> ended) {
    ++live.row.failures;
    const RetryPolicy& retry = RetryOf(*live.row.task);
    if (!retryable ||
        live.row.failures > retry.retries_max + (TAKT_MUTANT("engine.retry_once_more") ? 1 : 0)) {
        FinishExecution(live, Status::kFailed, std::move(outcome), ended);
        return;
    }
    ++live.lane->queue->waiting;
    MoveTo(live, Status::kRetrying);
    const Duration delay =
        TAKT_MUTANT("engine.no_retry_delay") ? Duration(0) : RetryDelay(retry, live.row.failures);
    const double cut = std::clamp(retry.jitter, 0.0, 1.0) * random_.Fraction();
    live.row.ready_at =
        now_.wall + delay - Duration(static_cast<std::int64_t>(double(delay.count()) * cut));
    live.row.outcome = WithHistory(std::move(outcome), live.row.outcome);
    const Outcome* how = live.row.outcome.get();
    live.row.outcome =
        RememberAttempt(live.row, {.end = AttemptEnd::kFailed,
                                   .reason = how ? how->reason : Reason::kHandlerFailed,
                                   .message = how ? how->message.view() : std::string_view(),
                                   .at = ended.value_or(now_.wall)});
    ++counters_.retried;
    if (live.row.started_at != Time{}) {
        draft_.NoteFailed({live.row.task->type, ended.value_or(now_.wall) - live.row.started_at});
    }
    Write(live, Place::kLive, true);
    Emit(EventType::kTaskRetrying, live, live.row.outcome ? live.row.outcome->message : Text());
    AwaitTime(live);
}

// The end. REQUIRES: neither waiting nor in a hand. The execution can be read until the step is
// over.
void Engine::FinishExecution(Live& live, Status status, OutcomePtr outcome,
                             std::optional<Time> ended) {
    outputs_.EndExecution(live.row, draft_);
    EndTrial(live);
    if (IsRun(live)) {
        CloseRun(live);
    } else {
        live.row.progress = {};  // That of its run, which a child carries while it lives.
    }
    TAKT_CHECK(!live.has_locks);
    MoveTo(live, status);
    live.row.finished_at = ended.value_or(now_.wall);
    live.row.outcome = WithHistory(std::move(outcome), live.row.outcome);
    Write(live, Place::kHistory, true);
    const Text detail = live.row.outcome ? live.row.outcome->message : Text();
    switch (status) {
        case Status::kSuccess:
            ++counters_.succeeded;
            Emit(EventType::kTaskCompleted, live);
            break;
        case Status::kFailed:
            ++counters_.failed;
            Emit(EventType::kTaskFailed, live, detail);
            break;
        case Status::kCancelled:
            ++counters_.cancelled;
            Emit(EventType::kTaskCancelled, live, detail);
            break;
        default:
            ++counters_.skipped;
            Emit(EventType::kTaskSkipped, live, detail);
            break;
    }
    retention_.CountFinished();
    if (status != Status::kSkipped) ++live.lane->queue->finished;
    if (!TAKT_MUTANT("engine.keep_keys")) claims_.Release(live.row);
    Run* parent = ParentOf(live);
    if (live.recurring) OnRunEnded(live);
    --counts_[static_cast<std::size_t>(status)];
    quotas_.Remove(live.row);
    lanes_.Release(*live.lane);
    holds_.RemoveNamer(live.row);
    live_.Finish(live);
    if (parent) OnChildEnded(*parent, live);
}

// Tells the worker to stop an attempt that is settled without it. Until it has, it takes up room. False
// if nobody has it: it was not sent, or its worker is lost or back without it, and would never say that
// it has stopped.
bool Engine::StopAtWorker(Live& live, Reason reason) {
    if (draft_.Withdraw(live.row, live.mark) || live.doubtful) return false;
    Slot& slot = *live.slot;
    const AttemptRef attempt{live.row.id, live.row.attempt, live.row.token};
    if (slot.session != 0 && !TAKT_MUTANT("engine.silent_stops"))
        draft_.Send(StopAttempt{slot.session, attempt, reason});
    // An attempt that was sent over HTTP cannot be called back, and nobody will tell when it is
    // over.
    if (slot.row.link == LinkKind::kStream) {
        slot.lingering.push_back(attempt);
    }
    return true;
}

void Engine::MoveTo(Live& live, Status to) {
    TAKT_CHECK(CanFollow(live.row.status, to));
    --counts_[static_cast<std::size_t>(live.row.status)];
    ++counts_[static_cast<std::size_t>(to)];
    live.row.status = to;
    ++counters_.transitions;
}

const RetryPolicy& Engine::RetryOf(const Task& task) const {
    return task.opt().retry ? *task.opt().retry : config_.retry;
}

Duration Engine::TimeoutOf(const Task& task) const {
    return task.timeout > Duration(0) ? task.timeout : config_.timeout;
}

}  // namespace takt::internal
