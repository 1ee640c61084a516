// Executions that declare locks, and handlers that ask for them.
//
// An execution stands in the lines of its locks from when a worker would take it. So the lane is
// asked first: what waits for a worker waits for no lock.
#include <algorithm>
#include <string>
#include <utility>

#include "engine/engine.h"

namespace takt::internal {

void Engine::RestoreRecord(const RecordPut& record) {
    if (record.kind == RecordKind::kLock) locks_.RestoreHolding(record.key, record.value);
    if (record.kind == RecordKind::kRun) stored_runs_[record.key] = record.value;
}

// Whether an execution that a worker would take has its locks; else it leaves its lane and stands in
// line for them, or fails if it can never have them.
bool Engine::HasLocks(Live& live) {
    const Task& task = *live.row.task;
    if (task.opt().locks.empty() || locks_.Keeps(live)) return true;
    if (LockingRun(ParentOf(live))) return true;
    if (std::string why = locks_.WhyNever(task); !why.empty()) {
        FailForLocks(live, std::move(why));
        return false;
    }
    LeaveList(live);
    if (locks_.TryKeep(live)) return true;
    WatchForCircle(live);
    return false;
}

void Engine::FailForLocks(Live& live, std::string why) {
    Unqueue(live);
    FinishExecution(live, Status::kFailed, MakeOutcome(Reason::kLockTooSmall, Text(why)));
}

// The locks of an execution that begins: its own, taken now, or those of the run that it is in, which
// has had them since its start.
std::vector<LockGrant> Engine::TakeLocks(Live& live) {
    return LockingRun(ParentOf(live)) ? TokensOf(live) : locks_.Take(live);
}

std::vector<LockGrant> Engine::TokensOf(const Live& live) const {
    std::vector<LockGrant> tokens = locks_.HeldBy(live);
    if (const Live* holder = LockingRun(ParentOf(live))) {
        for (LockGrant& grant : locks_.HeldBy(*holder)) tokens.push_back(std::move(grant));
    }
    return tokens;
}

// Does what time and others bring to locks, as far as one step may go.
void Engine::ServeLocks() {
    if (std::exchange(kept_doubtful_, false)) {
        for (Live* live : locks_.Kept()) {
            if (!CouldStart(*live)) locks_.Leave(*live);
        }
    }
    while (!draft_.Tired() && locks_.AnyDue()) {
        if (Live* live = locks_.ServeNext()) StartWithLocks(*live);
    }
}

// All its locks are kept for it: it goes back to where it waits for a worker.
void Engine::StartWithLocks(Live& live) {
    if (std::string why = locks_.WhyNever(*live.row.task); !why.empty()) {
        return FailForLocks(live, std::move(why));
    }
    MakeReady(live);
    const bool waits = !live.finished && IsWaiting(live.row.status);
    if (waits && !CouldStart(live)) locks_.Leave(live);
}

// Whether nothing but room at a worker keeps an execution that waits for one; a run needs none. If its
// queue or its limit is closed, or nobody serves its lane, others may have what would be kept for it:
// when it may start it is as old as it was, and first in line again.
bool Engine::CouldStart(const Live& live) {
    Hold* limit = holds_.LimitOf(live);
    if (limit && !holds_.IsOpen(*limit)) return false;
    if (IsRun(live)) return true;
    Queue& queue = *live.lane->queue;
    if (queue.limits.paused || !queue.pace.Ready(now_.steady)) return false;
    return std::ranges::any_of(live.lane->crew().members(), &Slot::works);
}

void Engine::On(AskLock& ask) {
    Live* live = FindCurrent(ask.attempt);
    if (!live) {
        return draft_.Send(LockVerdict{.session = ask.session,
                                       .attempt = ask.attempt,
                                       .ask = ask.ask,
                                       .name = ask.name,
                                       .why = "the attempt is over"});
    }
    if (const Live* holder = LockingRun(ParentOf(*live));
        holder && locks_.Holds(*holder, ask.name)) {
        return draft_.Send(LockVerdict{.session = ask.session,
                                       .attempt = ask.attempt,
                                       .ask = ask.ask,
                                       .name = ask.name,
                                       .why = "its run holds the lock; the token came with the "
                                              "attempt"});
    }
    // By its timeout it is over, and its locks with it.
    ask.wait = std::min(ask.wait, TimeoutOf(*live->row.task));
    locks_.Ask(ask, *live);
}

void Engine::On(DropLock& drop) {
    if (Live* live = FindCurrent(drop.attempt)) locks_.Drop(drop, *live);
}

}  // namespace takt::internal
