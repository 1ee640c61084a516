// Handlers that stop after their executions were ended, and what these hold until then.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/failpoint.h"
#include "engine/engine.h"

namespace takt::internal {
namespace {

// How often one is looked at whose time is over, and of which nothing can be known yet.
constexpr Duration kStopLookAgain{1'000};

// Whether the execution has something that others may wait for.
bool HoldsSomething(const Live& live, const Holds& holds, const Locks& locks) {
    if (live.has_turn && live.recurring->TurnsAtOnce() > 0) return true;
    if (live.has_permit) {
        const Hold* limit = holds.FindLimit(*live.row.task);
        if (limit && limit->permits_max > 0) return true;
    }
    return live.has_locks && !locks.HeldBy(live).empty();
}

}  // namespace

// An attempt in a worker's hand is ended without it. REQUIRES: the worker is told, or will be.
void Engine::AwaitStop(Live& live) {
    if (TAKT_MUTANT("engine.free_before_stop")) return;
    std::vector<Live*> holders;
    if (HoldsSomething(live, holds_, locks_)) holders.push_back(&live);
    for (const Run* run = ParentOf(live); run; run = run->parent) {
        if (HoldsSomething(*run->live, holds_, locks_)) holders.push_back(run->live);
    }
    if (holders.empty()) return;
    StoppingHandler& handler =
        AddStopping({live.row.id, live.row.attempt, live.row.token}, *live.slot);
    for (Live* holder : holders) {
        Leftover* leftover = IsRun(*holder) ? holder->flow->leftover : nullptr;
        if (!leftover) {
            const std::string number = std::to_string(leftovers_.made + 1);
            leftover = &leftovers_.Add(
                Text(std::string(Leftover::kPrefix) + std::to_string(term_.epoch) + "-" + number),
                holder->row.id);
        }
        if (IsRun(*holder)) {
            leftover->run = holder->flow;
            holder->flow->leftover = leftover;
            leftovers_.unwritten.insert(leftover->number);
        }
        Leftovers::Join(handler, *leftover);
    }
    if (holders.front() == &live) HandOver(live, *handler.leftovers.front());
}

StoppingHandler& Engine::AddStopping(const AttemptRef& attempt, Slot& slot) {
    auto made = std::make_unique<StoppingHandler>();
    StoppingHandler& handler = *made;
    handler.attempt = attempt;
    handler.slot = &slot;
    handler.order = ++leftovers_.stopping_made;
    leftovers_.by_slot.emplace(std::pair(slot.order, handler.order), &handler);
    leftovers_.stopping.emplace(attempt.execution, std::move(made));
    BeginStopTime(handler);
    return handler;
}

void Engine::BeginStopTime(StoppingHandler& handler) {
    handler.generation = draft_.generation();
    leftovers_.due.Set(handler, now_.steady + config_.timeout_grace, handler.order);
}

// The execution is over: what it holds goes to its leftover.
void Engine::HandOver(Live& live, Leftover& leftover) {
    leftover.run = nullptr;
    leftover.since = now_.wall;
    if (live.has_turn && live.recurring->TurnsAtOnce() > 0) {
        live.has_turn = false;
        leftover.turn_of = live.recurring;
        ++live.recurring->stopping;
    }
    if (live.has_permit) {
        leftover.limit = LimitKeyOf(*live.row.task);
        holds_.LeavePermit(live);
    }
    leftover.locks = locks_.LeaveHoldings(live);
    Write(leftover);
}

void Engine::Write(Leftover& leftover) {
    StoredLeftover stored{
        .execution = leftover.execution,
        .since = leftover.since,
        .turn_of = leftover.turn_of ? leftover.turn_of->row.task->id.text() : Text(),
        .limit = leftover.limit,
        .locks = leftover.locks,
        .handlers = {}};
    for (const auto& [order, handler] : leftover.handlers) {
        if (stored.handlers.size() == Leftover::kStoredMax) break;
        if (!handler->slot) continue;
        stored.handlers.push_back({handler->slot->row.id, handler->attempt});
    }
    leftover.stored = true;
    if (!TAKT_MUTANT("engine.forget_leftovers"))
        draft_.Set({leftover.key, Text(WriteLeftover(stored))});
}

// Leftovers of runs that go on: if the run ends under the next leader, its turn is not free before
// these handlers have stopped either.
void Engine::WriteLeftovers() {
    for (const std::uint64_t number : std::exchange(leftovers_.unwritten, {})) {
        const auto found = leftovers_.all.find(number);
        if (found != leftovers_.all.end() && found->second->run) Write(*found->second);
    }
}

// It has ended: what waits for that goes on when the step has settled all else.
void Engine::NoteStopped(StoppingHandler& handler) {
    handler.over = true;
    leftovers_.due.Set(handler, now_.steady, handler.order);
}

const AttemptRef* Engine::FindStopping(const ExecutionId& execution, const Token& token) const {
    const auto [first, last] = leftovers_.stopping.equal_range(execution);
    for (auto at = first; at != last; ++at) {
        const StoppingHandler& handler = *at->second;
        if (handler.attempt.token == token && !handler.over) return &handler.attempt;
    }
    return nullptr;
}

// The worker is back and names what it has; or it is lost, and has nothing any more. A service does
// not name what was ended meanwhile.
void Engine::ReviewStopping(Slot& slot, const std::vector<AttemptRef>& holding, bool same_process) {
    const std::vector<StoppingHandler*> handlers = leftovers_.Of(slot);
    if (handlers.empty()) return;
    // Both may be ten thousand.
    std::set<const StoppingHandler*> held;
    for (const AttemptRef& attempt : holding) held.insert(leftovers_.Find(attempt));
    for (StoppingHandler* handler : handlers) {
        if (handler->over) continue;
        if (same_process && slot.row.link == LinkKind::kPush) continue;
        if (!held.contains(handler)) {
            NoteStopped(*handler);
        } else {
            BeginStopTime(*handler);
            draft_.Send(StopAttempt{slot.session, handler->attempt, Reason::kCancelled});
        }
    }
}

// Its worker is forgotten, and so is lost.
void Engine::LeaveSlot(const Slot& slot) {
    for (StoppingHandler* handler : leftovers_.Of(slot)) {
        NoteStopped(*handler);
        handler->slot = nullptr;
        leftovers_.by_slot.erase({slot.order, handler->order});
    }
}

// Its time to stop is over, or it has stopped.
void Engine::OnStopDue(StoppingHandler& handler) {
    if (!handler.over) {
        // Its worker is away, or cut off: it comes back or is lost with its lease. Or it is not
        // told yet, or this process slept and the answer may lie unread in a socket.
        const Slot& slot = *handler.slot;
        const bool away = slot.row.link == LinkKind::kStream && IsUnheard(slot);
        const bool late = now_.steady - leftovers_.due.TimeOf(handler) > kStopLookAgain;
        if (away || late || handler.generation > released_generation_) {
            return leftovers_.due.Set(handler, now_.steady + kStopLookAgain, handler.order);
        }
    }
    for (Leftover* leftover : handler.leftovers) {
        leftover->handlers.erase(handler.order);
        if (leftover->handlers.empty()) EndLeftover(*leftover);
    }
    leftovers_.Remove(handler);
}

void Engine::EndLeftover(Leftover& leftover) {
    if (leftover.run) {
        leftover.run->leftover = nullptr;
    } else {
        for (const Text& lock : leftover.locks) locks_.EndLeft(lock);
        if (!leftover.limit.empty()) holds_.ReturnPermit(leftover.limit);
        if (Recurring* recurring = leftover.turn_of) {
            --recurring->stopping;
            holds_.ReturnTurn(*recurring->turns);
            DropTurns(*recurring);
        }
    }
    if (leftover.stored) draft_.SetLater({leftover.key, Text()});
    std::erase_if(leftovers_.turns_of_unknown,
                  [&](const auto& entry) { return entry.second == &leftover; });
    leftovers_.all.erase(leftover.number);
}

// The worker is done with an attempt that was settled without it.
void Engine::EndLingering(const AttemptRef& attempt, SessionId session) {
    if (StoppingHandler* handler = leftovers_.Find(attempt)) NoteStopped(*handler);
    Slot* slot = SlotOf(session);
    if (!slot) return;
    // By its token, too: a store that lost an attempt in a failover has its number given once more.
    std::erase_if(slot->lingering, [&](const AttemptRef& lingering) {
        if (!TAKT_MUTANT("engine.end_by_number")) return lingering == attempt;
        return lingering.execution == attempt.execution && lingering.attempt == attempt.attempt;
    });
    RefreshCapacity(*slot);
    FeedWorker(*slot);
}

// --- Under the next leader ----------------------------------------------------------------------

// Before all that lives adopts what it holds: a run that is run again has its old attempt's number.
void Engine::AdoptLeftLocks() {
    for (const auto& [key, stored] : leftovers_.stored) {
        for (const Text& lock : stored.locks) locks_.AdoptLeft(stored.execution, lock);
    }
}

// All that lives has what it holds. What died with its worker is over.
void Engine::BeginLeftovers() {
    for (auto& [key, stored] : std::exchange(leftovers_.stored, {})) {
        std::vector<std::pair<AttemptRef, Slot*>> handlers;
        for (const auto& [worker, attempt] : stored.handlers) {
            const auto slot = workers_.find(worker.text());
            const bool lost =
                slot == workers_.end() || slot->second->row.status == WorkerStatus::kOffline;
            if (!lost) handlers.emplace_back(attempt, slot->second.get());
        }
        if (handlers.empty()) {
            for (const Text& lock : stored.locks) locks_.EndLeft(lock);
            draft_.SetLater({key, Text()});
            continue;
        }
        Leftover& leftover = leftovers_.Add(key, stored.execution);
        leftover.stored = true;
        TakeAgain(leftover, std::move(stored));
        for (const auto& [attempt, slot] : handlers) {
            StoppingHandler* known = leftovers_.Find(attempt);
            Leftovers::Join(known ? *known : AddStopping(attempt, *slot), leftover);
        }
    }
}

void Engine::TakeAgain(Leftover& leftover, StoredLeftover stored) {
    leftover.since = stored.since;
    if (leftover.since == Time{}) {
        Live* live = FindLive(leftover.execution);
        if (!live || live->finished || !IsRun(*live) || live->flow->leftover) return;
        leftover.run = live->flow;
        live->flow->leftover = &leftover;
        return;
    }
    leftover.limit = std::move(stored.limit);
    if (!leftover.limit.empty()) holds_.TakePermitAgain(leftover.limit);
    leftover.locks = std::move(stored.locks);
    if (stored.turn_of.empty()) return;
    Recurring* recurring = FindRecurring(stored.turn_of);
    leftovers_.turns_of_unknown.emplace(std::move(stored.turn_of), &leftover);
    if (recurring) TakeTurnsAgain(*recurring);
}

// The task is known now: a new leader has restored it, or after it was deleted it is made again, or
// a run of it is run again.
void Engine::TakeTurnsAgain(Recurring& recurring) {
    const auto [first, last] =
        leftovers_.turns_of_unknown.equal_range(recurring.row.task->id.text());
    for (auto at = first; at != last; ++at) {
        at->second->turn_of = &recurring;
        ++recurring.stopping;
        ++recurring.EnsureTurns().taken;
    }
    leftovers_.turns_of_unknown.erase(first, last);
}

}  // namespace takt::internal
