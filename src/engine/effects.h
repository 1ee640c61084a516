// Effects: everything that the engine wants done. The node commits `changes` and carries the rest
// out after that commit. Only changes that are not urgent may come later than the effects of their
// step: nothing depends on whether they survive.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/error.h"
#include "engine/input.h"
#include "engine/lock_views.h"
#include "model/change.h"
#include "model/event.h"
#include "model/lock.h"

namespace takt::internal {

// The answer to a question about a lock.
struct LockAnswer {
    bool held = false;  // Else it could not be had in time; `holders` are those who have it.
    Text lock_id;
    std::uint64_t token = 0;
    Time expires_at{};  // By the wall clock, for people.
    std::vector<LockHolderView> holders;
};

// The answer to a question: the execution or the task it was about, the other one left empty.
struct Answer {
    Execution execution;
    TaskRow task;
    std::shared_ptr<const LockAnswer> lock;  // Null unless it was about a lock.
    bool created = false;                    // The question made it, rather than found it.
};
struct Reply {
    RequestId request = 0;
    Result<Answer> answer;
};

// Send an attempt to a worker.
struct Assign {
    SessionId session = 0;
    Execution execution;
    Duration timeout{0};                // Of the attempt; 0 is none.
    std::vector<LockGrant> locks = {};  // That it has, with their tokens.
};

// Tell a worker to stop an attempt and forget it.
struct StopAttempt {
    SessionId session = 0;
    AttemptRef attempt;
    Reason reason{};
};

// The verdict on a Report. A worker keeps a result until it has one.
struct Verdict {
    SessionId session = 0;
    AttemptRef attempt;
    bool accepted =
        false;  // Else stale: the attempt is not, or no longer, the execution's current.
};

// The answer to an AskLock. Also, with token 0, of a lock that the attempt had and that was taken away:
// the one of `ask`, or for 0 one that its task declares or its run holds.
struct LockVerdict {
    SessionId session = 0;
    AttemptRef attempt;
    std::uint64_t ask = 0;
    Text name;
    std::uint64_t token = 0;  // 0: it was not had, and `why` says why.
    Text why;
};

// The session is over: a newer one of the same worker took its place, or its lease ended.
struct CloseSession {
    SessionId session = 0;
    Text reason;
    bool full = false;  // There is no room for it until somebody makes some.
};

// Tell a worker whether to expect more work.
struct DrainNotice {
    SessionId session = 0;
    bool draining = false;
};

// Tell a worker how many attempts it may be given at once.
struct CapacityNotice {
    SessionId session = 0;
    std::uint32_t capacity = 0;  // 0: as it said itself.
};

// Ask the store for executions that the engine does not hold; the answer comes back as LookupDone.
struct Lookup {
    std::vector<ExecutionId> ids;
};

// An attempt that failed and is followed by another, which may be in the same batch.
struct FailedAttempt {
    Text type;
    Duration ran{};
};

// Gathered over one or more steps and handed on as one batch.
struct Effects {
    // At most one change of each row: a later change of a row takes the place of the earlier one.
    std::vector<Change> changes;
    // Which of them took the place of an earlier one; the node measures them anew and empties it.
    std::vector<std::uint32_t> rewritten;
    // Whether the changes are worth a commit of their own. What need not survive (that an attempt
    // has begun) goes along with the next one.
    bool urgent = false;
    // Tells the engine which batch `changes` belongs to. The node raises it with each new batch; 0
    // for effects that are released without one.
    std::uint32_t generation = 1;
    Steady begun_at{};  // When the first of its changes was made.

    std::vector<Reply> replies;
    std::vector<Assign> assigns;
    std::vector<StopAttempt> stops;
    std::vector<Verdict> verdicts;
    std::vector<LockVerdict> lock_verdicts;
    std::vector<CloseSession> closes;
    std::vector<DrainNotice> drains;
    std::vector<CapacityNotice> capacities;
    std::vector<Lookup> lookups;
    std::vector<Event> events;
    std::vector<FailedAttempt> failed;  // Those that are tried again.
    std::vector<Duration> lock_waits;   // How long those stood in line who were given locks.
    std::vector<LogChunk> logs;         // For who follows an execution's output.

    Change& Rewrite(std::uint32_t index) {
        rewritten.push_back(index);
        return changes[index];
    }

    // Whether there is nothing to carry out, changes aside.
    bool silent() const {
        return replies.empty() && assigns.empty() && stops.empty() && verdicts.empty() &&
               lock_verdicts.empty() && closes.empty() && drains.empty() && capacities.empty() &&
               lookups.empty() && events.empty() && logs.empty();
    }
};

}  // namespace takt::internal
