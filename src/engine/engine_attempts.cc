// One execution on its way: waiting, ready, with a worker, ended.
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
    live.lane = &LaneFor(*live.row.task);
    ++live.lane->live;
    if (IsWaiting(live.row.status)) {
        ++live.lane->queue->waiting;
    } else if (!IsRun(live)) {
        ++live.lane->queue->working;
    }
    ++counts_[static_cast<std::size_t>(live.row.status)];
    quotas_.Add(live.row);
    return live;
}

// Puts a restored execution where it belongs.
void Engine::PlaceRestored(Live& live) {
    if (IsWaiting(live.row.status)) {
        // An execution that has begun keeps its turn until it is finished, also between attempts.
        if (Begun(live.row) && live.recurring) holds_.TakeTurnAgain(live, *live.recurring->turns);
        // By the clock of another leader what was ready already may seem to be yet to come.
        if (!NeedsClock(live.row)) live.row.ready_at = std::min(live.row.ready_at, now_.wall);
        const Time at = ReadyAt(live);
        const bool writes = Expired(live.row) || IsRun(live) || MayNotStart(live) || IsPinned(live);
        if (live.row.status == Status::kPending && !writes && at <= now_.wall) {
            return MakeReady(live);
        }
        // All that its time brings is written: the steps to come do that, a bounded number each.
        return due_.Set(live, at, live.row.serial);
    }
    if (IsRun(live)) return PlaceRun(live);
    TAKT_CHECK(!live.row.worker.empty());
    const auto [worker, unknown] = workers_.try_emplace(live.row.worker.text());
    if (unknown) {
        worker->second = std::make_unique<Slot>();
        worker->second->order = ++joined_;
        worker->second->row.id = live.row.worker;
        worker->second->row.status = WorkerStatus::kOffline;
    }
    Slot& slot = *worker->second;
    live.slot = &slot;
    slot.hand.PushBack(live);
    // It has its turn and its room, as far as it needs them.
    if (live.recurring && !live.forced) holds_.TakeTurnAgain(live, *live.recurring->turns);
    if (!TAKT_MUTANT("engine.forget_limits_on_load")) holds_.TakePermitAgain(live);
    locks_.Adopt(live);
    if (slot.row.status == WorkerStatus::kOffline) {
        // Its worker was lost, and the leader of that time died before it could say what follows.
        live.doubtful = true;
        slot.doubt_is_loss = true;
        ContinueLater(slot);
    }
    // Its timeout begins anew: for how long it has gone on is known by another leader's clock only,
    // and its worker ends it by its own.
    SetTimeout(live);
}

void Engine::SetTimeout(Live& live) {
    const Duration timeout = TimeoutOf(*live.row.task) + config_.timeout_grace;
    overdue_.Set(live, now_.steady + timeout, live.row.serial);
}

// The clock was set. What waits for a while that began in this term does so by the steady clock, as
// does what is ready and has so much time to start, unless the clock is believed and says that it is
// over; all else is judged anew.
void Engine::WaitAgain() {
    for (Live* live : due_.All()) {
        const Time moved = due_.TimeOf(*live) + clock_.moved();
        Time at = ReadyAt(*live);
        if (live->waits != Waits::kNothing) {
            at = StartBy(live->row).value_or(moved);
            if (live->timed_here) at = std::min(at, moved);
        } else if (live->timed_here && (WaitOf(live->row) || !NeedsClock(live->row))) {
            at = moved;
        }
        due_.Set(*live, at, live->row.serial);
    }
}

// REQUIRES: pending or retrying, and in no list.
void Engine::AwaitTime(Live& live) {
    live.timed_here = true;
    if (live.row.ready_at > now_.wall) {
        due_.Set(live, live.row.ready_at, live.row.serial);
    } else {
        MakeReady(live);
    }
}

bool Begun(const Execution& row) {
    if (row.task->workflow()) return row.status == Status::kRunning;
    return row.attempt > 0 && !row.worker.empty();
}

void Engine::MakeReady(Live& live) {
    if (live.row.status == Status::kRetrying) {
        MoveTo(live, Status::kPending);
        Write(live, Place::kLive, false);
    }
    if (Expired(live.row)) {
        Unqueue(live);
        FinishExecution(live, Status::kFailed,
                        MakeOutcome(Reason::kExpired, "not started within its expires_after"));
        return;
    }
    if (MayNotStart(live)) {
        Unqueue(live);
        return FinishExecution(live, Status::kCancelled, WhyNotStarted(live));
    }
    if (!live.armed() || IsTooLate(live)) {
        // It was not ready before, or its deadline would be to come.
        const auto deadline = StartBy(live.row);
        deadline ? due_.Set(live, *deadline, live.row.serial) : due_.Remove(live);
    }
    if (live.recurring && !holds_.TakeTurn(live, *live.recurring->turns)) {
        return WatchForCircle(live);
    }
    if (IsRun(live)) return AwaitRoom(live);
    if (IsPinned(live)) return AwaitWorker(live);
    Hold* limit = holds_.LimitOf(live);
    Lane& lane = *live.lane;
    const bool queue_open = lane.queue->Open(now_.steady);
    const bool open = queue_open && (!limit || holds_.IsOpen(*limit));
    // A lane whose workers have room is empty, unless its queue was closed or a step stopped short.
    if (lane.crew().free() > 0 && lane.empty() && open && !draft_.Tired()) {
        if (!MayBegin(live)) return;
        return GiveTo(live, chooser_.Choose(live.row, lane));
    }
    const bool back = locks_.Keeps(live);
    limit ? holds_.Add(live, *limit, back) : lane.Add(live, back);
    if (limit) WatchForCircle(live);
    if (lane.crew().free() > 0 && open) {
        return queue_paces_.Set(*lane.queue, now_.steady, lane.queue->number);
    }
    if (!queue_open && lane.queue->pace.limited()) StartFromQueue(*lane.queue);
}

// Ends an execution that waits for a worker if its time is over, or its run ends. A timer and the run
// do that too, but after a pause of this process or a jump of the clock a worker may ask first.
bool Engine::EndIfExpired(Live& live) {
    if (!IsTooLate(live) && !MayNotStart(live)) return false;
    OnDue(live);
    return true;
}

// Takes an execution out of the list that it waits in.
void Engine::LeaveList(Live& live) {
    switch (live.waits) {
        case Waits::kNothing:
        case Waits::kLock:
            break;
        case Waits::kTurn:
            holds_.LeaveLine(live, *live.recurring->turns);
            break;
        case Waits::kLimit:
            holds_.Remove(live);
            break;
        case Waits::kWorker:
            live.lane->Remove(live);
            break;
        case Waits::kPinned:
            workers_.find(live.row.worker.text())->second->pinned.Remove(live);
            live.waits = Waits::kNothing;
            break;
    }
}

// Takes an execution that waits, for its time or for a worker, out of the waiting.
void Engine::Unqueue(Live& live) {
    LeaveList(live);
    locks_.Leave(live);
    due_.Remove(live);
    if (!TAKT_MUTANT("engine.leak_waiting")) --live.lane->queue->waiting;
}

void Engine::GiveTo(Live& live, Slot& slot) {
    TAKT_CHECK(slot.can_take);
    LeaveList(live);
    due_.Remove(live);
    --live.lane->queue->waiting;
    ++live.lane->queue->working;
    SpendPaceOf(*live.lane->queue);
    trials_.Note(live.row, live.lane->crew().members().size(), now_.steady);
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
    live.doubtful = live.spared = false;
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
    return slot;
}

// Its worker is gone, or never got it: somebody else has to run it.
void Engine::RequeueExecution(Live& live, bool loss) {
    draft_.Withdraw(live.row, live.mark);
    const bool spared = live.spared && !TAKT_MUTANT("engine.blame_all");
    TakeFromHand(live);
    live.row.outcome = RememberAttempt(
        live.row, {.end = loss ? AttemptEnd::kLost : AttemptEnd::kReturned, .at = now_.wall});
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
    Write(live, Place::kLive, true);
    Emit(EventType::kTaskRetrying, live, live.row.outcome ? live.row.outcome->message : Text());
    AwaitTime(live);
}

// The end. REQUIRES: neither waiting nor in a hand. The execution can be read until the step is
// over.
void Engine::FinishExecution(Live& live, Status status, OutcomePtr outcome,
                             std::optional<Time> ended) {
    outputs_.EndExecution(live.row, draft_);
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
    --live.lane->live;
    live_.Finish(live);
    if (parent) OnChildEnded(*parent, live);
}

// Tells the worker to stop an attempt that is settled without it. Until it has, it takes up room.
void Engine::StopAtWorker(Live& live, Reason reason) {
    if (draft_.Withdraw(live.row, live.mark)) return;
    Slot& slot = *live.slot;
    const AttemptRef attempt{live.row.id, live.row.attempt, live.row.token};
    if (slot.session != 0 && !TAKT_MUTANT("engine.silent_stops"))
        draft_.Send(StopAttempt{slot.session, attempt, reason});
    // An attempt that was sent over HTTP cannot be called back, and nobody will tell when it is
    // over.
    if (slot.row.link == LinkKind::kStream) {
        slot.lingering.push_back({attempt.execution, attempt.attempt});
    }
}

void Engine::MoveTo(Live& live, Status to) {
    TAKT_CHECK(CanFollow(live.row.status, to));
    --counts_[static_cast<std::size_t>(live.row.status)];
    ++counts_[static_cast<std::size_t>(to)];
    live.row.status = to;
    ++counters_.transitions;
}

// Its time has come; or, if it already waits for a worker, its time is over.
void Engine::OnDue(Live& live) {
    if (live.waits == Waits::kNothing) {
        const auto expiry = live.recurring || MayNotStart(live) ? std::nullopt : ExpiryOf(live.row);
        const Duration doubt = expiry && Expired(live.row) ? clock_.DoubtOf(*expiry) : Duration(0);
        // Neither started nor ended before the machine may have had its clock set. Fires come again
        // anyhow, and must not wait for this one.
        if (doubt > Duration(0)) return due_.Set(live, now_.wall + doubt, live.row.serial);
        live.row.ready_at = std::min(live.row.ready_at, now_.wall);
        return MakeReady(live);
    }
    Unqueue(live);
    if (MayNotStart(live)) return FinishExecution(live, Status::kCancelled, WhyNotStarted(live));
    FinishExecution(live, Status::kFailed,
                    MakeOutcome(Reason::kExpired, "not started within its expires_after"));
}

const RetryPolicy& Engine::RetryOf(const Task& task) const {
    return task.opt().retry ? *task.opt().retry : config_.retry;
}

Duration Engine::TimeoutOf(const Task& task) const {
    return task.timeout > Duration(0) ? task.timeout : config_.timeout;
}

}  // namespace takt::internal
