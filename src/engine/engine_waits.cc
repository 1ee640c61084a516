// One execution that waits: for its time, its turn, room, a worker.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/failpoint.h"
#include "engine/engine.h"

namespace takt::internal {
namespace {

// Writes nothing, but of very many a step may not put off all.
constexpr std::size_t kPutOffBytes = 64;

// Whether the worker, which has room, could take something else that comes first: it has ended
// something, or has come, and what waited for it in other lanes is still to be given to it.
bool HasMoreUrgent(const Slot& slot, const Live& live, Steady now) {
    const Urgency own = UrgencyOf(live.row, live.lane->ageing);
    return std::ranges::any_of(slot.crews, [&](Crew* crew) {
        const Live* first = crew->First(now);
        return first && UrgencyOf(first->row, first->lane->ageing) < own &&
               !TAKT_MUTANT("engine.order_within_lanes");
    });
}

}  // namespace

// Puts a restored execution that has begun where it belongs; one between two attempts has its turn.
void Engine::PlaceBegun(Live& live) {
    if (IsWaiting(live.row.status)) {
        // It keeps its turn until it is finished.
        if (live.recurring) holds_.TakeTurnAgain(live, *live.recurring->turns);
        return;
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
    if (trials_.IsSuspect(live.row)) trials_.NoteTakenOver(now_.steady);
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

// Puts what waits where it belongs: in the order in which it became ready, which lanes and lines keep.
// Serials rise by when a thing was made, and what had a delay or is retried became ready long after.
void Engine::PlaceWaiting() {
    std::erase_if(restored_,
                  [](const Live* live) { return live->finished || !IsWaiting(live->row.status); });
    for (Live* live : restored_) {
        // By the clock of another leader what was ready already may seem to be yet to come.
        if (!NeedsClock(live->row)) live->row.ready_at = std::min(live->row.ready_at, now_.wall);
    }
    const auto age = [](const Live* live) {
        return std::pair(live->row.ready_at, live->row.serial);
    };
    if (!std::ranges::is_sorted(restored_, {}, age) && !TAKT_MUTANT("engine.restore_by_serial")) {
        std::ranges::sort(restored_, {}, age);
    }
    // All that its time brings is written: the steps to come do that, a bounded number each. Whatever
    // became ready after one that will then stand in a lane comes after it.
    bool later = false;
    for (Live* live : restored_) {
        const Time at = ReadyAt(*live);
        const bool ends = Expired(live->row) || MayNotStart(*live);
        const bool stands = !ends && !IsRun(*live) && !IsPinned(*live);
        later = later || (stands && live->row.status == Status::kRetrying && at <= now_.wall);
        if (stands && !later && at <= now_.wall) {
            MakeReady(*live);
        } else {
            due_.Set(*live, at, live->row.serial);
        }
    }
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
    const bool first = lane.priorities == 0 && lane.bay->limited.empty();
    const bool overtakes = OvertakenUnder(live) || OvertakenFrom(live);
    if (lane.crew().free() > 0 && first && open && !draft_.Tired() && !overtakes) {
        if (!MayBegin(live)) return;
        Slot& slot = chooser_.Choose(live.row, lane);
        if (!HasMoreUrgent(slot, live, now_.steady)) return GiveTo(live, slot);
    }
    const bool back = locks_.Keeps(live);
    limit ? holds_.Add(live, *limit, back) : lane.Add(live, back);
    if (limit) WatchForCircle(live);
    if (lane.crew().free() > 0 && open) {
        return queue_paces_.Set(*lane.queue, now_.steady, lane.queue->number);
    }
    if (!queue_open && lane.queue->pace.limited()) StartFromQueue(*lane.queue);
}

// Gives an execution to a worker with room; one for which something else comes first is given that
// instead, and this one waits. REQUIRES: it may begin.
void Engine::GiveInTurn(Live& live) {
    Slot& slot = chooser_.Choose(live.row, *live.lane);
    if (!HasMoreUrgent(slot, live, now_.steady)) return GiveTo(live, slot);
    // With its locks it has left its lane.
    if (live.waits == Waits::kNothing) MakeReady(live);
    FeedWorker(slot);
}

// Whether an execution that a worker would take can be given to it. Else it has left its lane: to wait
// for its locks, or until the suspect before it has had its time.
bool Engine::MayBegin(Live& live) {
    const auto at = trials_.PutOff(live.row, now_.steady);
    if (!at) return HasLocks(live);
    LeaveList(live);
    locks_.Leave(live);
    draft_.Spend(kPutOffBytes);
    live.timed_here = true;
    const Time until = now_.wall + std::chrono::ceil<Duration>(*at - now_.steady);
    due_.Set(live, std::min(until, StartBy(live.row).value_or(until)), Trials::OrderOf(live.row));
    return false;
}

// A suspect runs no more: the one that is next in the line does not wait for it.
void Engine::EndTrial(const Live& live) {
    if (!trials_.NoteOver(live.row, now_.steady) || TAKT_MUTANT("engine.sit_out_trials")) return;
    for (const auto& [order, id] : trials_.line()) {
        Live* next = FindLive(id);
        if (!next || next->waits != Waits::kNothing || !next->armed()) continue;
        return due_.Set(*next, now_.wall, order);
    }
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

// Its time has come; or, if it already waits for a worker, its time is over.
void Engine::OnDue(Live& live) {
    if (live.waits == Waits::kNothing) {
        const auto expiry = live.recurring || MayNotStart(live) ? std::nullopt : ExpiryOf(live.row);
        const Duration doubt = expiry && Expired(live.row) ? clock_.DoubtOf(*expiry) : Duration(0);
        // Neither started nor ended before the machine may have had its clock set. Fires come again
        // anyhow, and must not wait for this one.
        if (doubt > Duration(0)) return due_.Set(live, now_.wall + doubt, live.row.serial);
        live.row.ready_at = std::min(live.row.ready_at, now_.wall);
        draft_.Spend(kPutOffBytes);
        return MakeReady(live);
    }
    Unqueue(live);
    if (MayNotStart(live)) return FinishExecution(live, Status::kCancelled, WhyNotStarted(live));
    FinishExecution(live, Status::kFailed,
                    MakeOutcome(Reason::kExpired, "not started within its expires_after"));
}

}  // namespace takt::internal
