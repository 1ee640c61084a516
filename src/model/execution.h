// Execution: one run of a task. The row that stores keep, and the state that the engine moves.
#pragma once

#include <array>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/text.h"
#include "base/time.h"
#include "model/status.h"
#include "model/task.h"

namespace takt::internal {

// Proves that a report belongs to one attempt: unguessable, used once.
using Token = std::array<std::uint8_t, 16>;
std::string TokenText(const Token& token);  // 32 hexadecimal digits.
std::optional<Token> ParseToken(std::string_view text);

// Why an execution or attempt ended as it did. Stored by number and shown by
// name: only ever append.
enum class Reason : std::uint8_t {
    kNone,
    kHandlerFailed,  // The handler said so.
    kTimeout,        // The attempt ran longer than its timeout.
    kWorkerLost,     // Its workers kept dying: losses_max reached.
    kCancelled,      // Somebody cancelled it.
    kExpired,        // Not started in time.
    kSkipped,        // The execution mode dropped the fire.
    kMissed,         // The misfire policy dropped the fire.
    kReplaced,       // A newer fire took its place.
    kUndecodable,    // Its stored record could not be read.
    kRejected,       // The worker refused to run it (unknown type, malformed payload).
    kPaused,         // The fire was due while its task was paused.
    kLockTooSmall,   // It asks for more permits of a lock than the lock has.
    kStepFailed,     // A run: one of its steps failed.
    kValueMissing,   // A step: a value that it needs is not there.
    kStepRefused,    // A step: what it asks for cannot be (no list, too many, no such task).
    kWorkerGone,     // A step for each worker: this one went away before it began.
    kRunEnded,       // A step: its run was ended.
    kLockNotHeld,    // A step: it declares a lock that its run, which holds locks, does not name.
};
constexpr Reason kReasonLast = Reason::kLockNotHeld;
std::string_view Name(Reason reason);
std::optional<Reason> ParseReason(std::string_view name);

// How an attempt ended that another one followed. Stored by number: only ever append.
enum class AttemptEnd : std::uint8_t {
    kFailed,     // It said so, or ran out of time.
    kLost,       // Its worker died.
    kReturned,   // Its worker never got it, or gave it back.
    kCancelled,  // Somebody ended it: concluded the execution, or later ran it again.
};
std::string_view Name(AttemptEnd end);

// One line of an execution's history.
struct PastAttempt {
    std::uint32_t attempt = 0;
    AttemptEnd end{};
    Reason reason = Reason::kNone;
    WorkerId worker;
    Time started_at{};  // 0 if it never began.
    Time finished_at{};
    Text message;  // Cut to kPastMessageBytesMax.

    friend bool operator==(const PastAttempt&, const PastAttempt&) = default;
};
// A row is read and written with its history: older attempts and longer messages are left out.
constexpr std::size_t kPastAttemptsMax = 20;
constexpr std::size_t kPastMessageBytesMax = 300;

// The end of an attempt, as it is kept.
struct Outcome : boost::intrusive_ref_counter<Outcome, boost::thread_safe_counter> {
    Reason reason = Reason::kNone;  // kNone on success.
    std::int32_t code = 0;          // The handler's own number.
    Text message;
    Text data;  // The result; JSON as given.
    // The attempts before the current one, oldest first. Here, because only what has ended once
    // has a history, and a million that wait for their first attempt must stay small.
    std::vector<PastAttempt> past;
};
using OutcomePtr = boost::intrusive_ptr<const Outcome>;
OutcomePtr MakeOutcome(Reason reason, Text message);

// How an execution came to be.
enum class Origin : std::uint8_t { kOnce, kFire, kTrigger, kStep, kBackfill };
std::string_view Name(Origin origin);

struct Execution {
    Serial serial = 0;
    ExecutionId id;
    TaskPtr task;  // Never null. For one-off tasks task->id and id are equal.
    Status status = Status::kPending;
    Origin origin = Origin::kOnce;
    std::uint32_t attempt = 0;   // Attempts begun so far; the current one's number while it goes.
    std::uint32_t failures = 0;  // Attempts that failed; retries_max counts these.
    std::uint32_t losses = 0;    // Attempts lost with their worker; losses_max counts these.
    std::uint64_t epoch = 0;     // The term of the current attempt's assignment.
    Token token{};               // The current attempt's.
    WorkerId worker;             // Of the current or last attempt.
    Text payload;        // Overrides the task's payload if not empty (a trigger's parameters).
    ExecutionId parent;  // The run of a workflow that this is a part of; empty: of none.
    Text step;           // Which step of it.
    std::uint32_t shard_index = 0;  // Which part of the step, from 0 …
    std::uint32_t shard_total = 0;  // … of so many; 0: the step is not divided.
    std::uint32_t round = 0;        // How often the run had been run again when this was made.
    Text progress;  // How far the steps of a run are; a child may carry its run's. Opaque.
    Time created_at{};
    Time scheduled_at{};  // When it should run: its run_at or the time of its fire.
    Time ready_at{};      // When it may start next; later than scheduled_at after a failure.
    Time started_at{};    // Of the current or last attempt.
    Time finished_at{};
    OutcomePtr outcome;  // Of the last attempt that ended, or of the execution.

    const Text& input() const { return payload.empty() ? task->payload : payload; }
};

// The current attempt of `row` has ended at `at`, and is part of its history from now on. Returns
// the row's outcome with it; `reason` and `message` say how it ended.
struct AttemptEnding {
    AttemptEnd end{};
    Reason reason = Reason::kNone;
    std::string_view message;
    Time at{};
};
OutcomePtr RememberAttempt(const Execution& row, const AttemptEnding& ending);

// Whether somebody else ended the last attempt, which was lost, given back or concluded. Of one whose
// history does not say so the outcome is its own.
bool WasEndedByOthers(const Execution& row);

// When the first attempt began that failed since an operator ran the execution again; nothing if
// nobody did, or none failed since. `late` is when it was too late to start without an operator.
std::optional<Time> FirstFailureSinceRedrive(const Execution& row, Time late);

// `latest` with the history of `before`.
OutcomePtr WithHistory(OutcomePtr latest, const OutcomePtr& before);

// Names one attempt. What a worker sends back with every report.
struct AttemptRef {
    ExecutionId execution;
    std::uint32_t attempt = 0;
    Token token{};

    friend bool operator==(const AttemptRef&, const AttemptRef&) = default;
};

}  // namespace takt::internal
