// Effects: everything that the engine wants done. The node commits `changes` and carries the rest
// out after that commit. Only changes that are not urgent may come later than the effects of their
// step: nothing depends on whether they survive.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "engine/input.h"
#include "model/change.h"
#include "model/event.h"

namespace takt::internal {

// The answer to a question: the execution or the task it was about, the other one left empty.
struct Answer {
    Execution execution;
    TaskRow task;
    bool created = false;  // The question made it, rather than found it.
};
struct Reply {
    RequestId request = 0;
    Result<Answer> answer;
};

// Send an attempt to a worker.
struct Assign {
    SessionId session = 0;
    Execution execution;
    Duration timeout{0};  // Of the attempt; 0 is none.
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

// The session is over: a newer one of the same worker took its place, or its lease ended.
struct CloseSession {
    SessionId session = 0;
    Text reason;
};

// Tell a worker whether to expect more work.
struct DrainNotice {
    SessionId session = 0;
    bool draining = false;
};

// Ask the store for executions that the engine does not hold; the answer comes back as LookupDone.
struct Lookup {
    std::vector<ExecutionId> ids;
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
    std::vector<CloseSession> closes;
    std::vector<DrainNotice> drains;
    std::vector<Lookup> lookups;
    std::vector<Event> events;
    std::vector<LogChunk> logs;  // For who follows an execution's output.

    Change& Rewrite(std::uint32_t index) {
        rewritten.push_back(index);
        return changes[index];
    }

    // Whether there is nothing to carry out, changes aside.
    bool silent() const {
        return replies.empty() && assigns.empty() && stops.empty() && verdicts.empty() &&
               closes.empty() && drains.empty() && lookups.empty() && events.empty() &&
               logs.empty();
    }
};

}  // namespace takt::internal
