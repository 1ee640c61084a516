// Inputs: everything that can happen to the engine, as values. A history of inputs and their times
// determines everything that the engine does.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "base/boxed.h"
#include "base/id.h"
#include "model/audit.h"
#include "model/change.h"
#include "model/execution.h"
#include "model/namespace.h"
#include "model/task.h"
#include "model/worker.h"

namespace takt::internal {

// Names a question, so that its Reply finds whoever asked. 0: nobody waits for the answer.
using RequestId = std::uint64_t;

// One connection of a worker. The newest session of a worker id is the one that counts.
using SessionId = std::uint64_t;

// An input that operators give has `by`: who asks. What comes of it is then in the audit, in the same
// batch. Null where programs ask for it in their daily work.

// Run a one-off task. An empty task id is replaced by a generated one; the engine stamps its times.
// Replies with the execution: a new one, or the one made earlier if the same id asked for the same
// thing; kConflict if it asked for another or is a recurring task's; kExhausted if the queue is
// full.
struct Submit {
    RequestId request = 0;
    NewTaskPtr task;  // Nobody else holds it.
    ActPtr by = {};
};

// Ends an execution that is not finished. A running one is told to stop; its outcome is settled at
// once and whatever it still reports is stale. A run takes its end when its last child has; until
// then it is ending. Replies with the execution; kNotFound, or kConflict
// if it is already finished.
struct Cancel {
    RequestId request = 0;
    ExecutionId execution;
    Text reason;
    ActPtr by = {};
};

// Runs a failed or cancelled execution again, with a fresh count of failures and losses. Of a run,
// what succeeded is kept but for `steps` and what comes after them. Replies with the execution;
// kNotFound, kConflict if it is not finished or succeeded, or is a part of a run.
struct Redrive {
    RequestId request = 0;
    ExecutionId execution;
    std::vector<Text> steps = {};
    ActPtr by = {};
};

// An operator, or the process that owns the work, ends an execution without being its worker: it
// succeeded, failed for good or was cancelled. Replies like Cancel.
struct Conclude {
    RequestId request = 0;
    ExecutionId execution;
    Status status{};  // kSuccess, kFailed or kCancelled.
    OutcomePtr outcome;
    ActPtr by = {};
};

// Makes a recurring task, or changes it: its id decides which. Replies with the task; kConflict if
// the id is a one-off task's, if `create_only` and it asks for something else already, or if
// `if_version` is not its version; kInvalid if its times make no sense or it would never fire.
struct PutTask {
    RequestId request = 0;
    NewTaskPtr task;  // Nobody else holds it. An empty id is replaced by a generated one.
    bool create_only = false;
    std::uint32_t if_version = 0;  // 0: whatever it is.
    bool if_own = false;  // kConflict if the task that is there names another executor, or none.
    std::optional<bool> paused;  // Pauses or resumes it in the same change; else as it was.
    ActPtr by = {};
};

// The fate of the runs of a deleted task that have not begun.
enum class RunsOfDeleted : std::uint8_t {
    kCancel,  // They are cancelled.
    kKeep,    // They run, in the order that its mode gave them.
};

// Forgets a recurring task. Its runs that have begun go on. Replies with the task as it was, once
// all is done; kNotFound, or kConflict if `if_version` is not its version.
struct DeleteTask {
    RequestId request = 0;
    TaskId task;
    std::uint32_t if_version = 0;
    RunsOfDeleted runs = RunsOfDeleted::kCancel;
    ActPtr by = {};
};

// Stops or resumes the fires of a recurring task. Replies with the task; kNotFound, kConflict.
struct PauseTask {
    RequestId request = 0;
    TaskId task;
    bool paused = false;
    std::uint32_t if_version = 0;
    ActPtr by = {};
};

// Runs a recurring task now. Obeys its mode unless forced. Replies with the execution (which the
// mode may have skipped); kNotFound.
struct Trigger {
    RequestId request = 0;
    TaskId task;
    Text payload;  // Instead of the task's, if not empty.
    bool force = false;
    ExecutionId execution =
        {};  // The run's; empty: one is made. If there is one, it is the answer.
    ActPtr by = {};
};

// An operator's word on a queue.
struct QueueLimits {
    bool paused = false;
    std::uint32_t working_max = 0;  // Scheduled and running at once; 0 is no limit.
    RateLimit rate;
};
// Changes the limits of a queue; remembered by the next leader. What is not given stays as it is:
// of two changes at once neither undoes the other. Replies with nothing.
struct SetQueue {
    RequestId request = 0;
    Text queue;
    std::optional<bool> paused;
    std::optional<std::uint32_t> working_max;
    std::optional<RateLimit> rate;
    ActPtr by = {};
};

// Keeps a named value that the engine itself does not read (access tokens, alert rules) under the
// same fence as everything else. An empty value deletes it. `by` says what is changed.
struct SetSetting {
    RequestId request = 0;
    Text key;
    Text value;
    ActPtr by = {};
};

// Changes several named values at once, if the value under `guard` is still what the asker read; that
// becomes `next`. kConflict otherwise: read again, decide again.
struct SwapSettings {
    RequestId request = 0;
    Text guard;  // Its name ends with kGuardSuffix.
    Text expected;
    Text next;
    std::vector<SettingPut> puts;
    ActPtr by = {};
};
constexpr std::string_view kGuardSuffix = ".version";

// The namespace may use something else from now on, or decides otherwise. What an operator set by
// SetStrategy stays.
struct Configure {
    Quotas quotas;
    Duration retention{0};
    Duration audit_retention{0};
    Duration timeout{0};
    RetryPolicy retry;
    Strategy strategy{};
    Text strategy_name;
    std::uint64_t log_bytes_max = 0;
};

// An alert came to another state: keeps it under `key` and tells who watches, in one batch, so that
// the next leader knows exactly what the events have told.
struct PostAlert {
    RequestId request = 0;
    Text key;
    Text value;  // Empty: it is forgotten.
    TaskId task;
    WorkerId worker;
    Text detail;  // What the event says.
};

// --- Locks: see engine/locks.h; replies have Answer::lock -----------------------------------------

// Asks for permits of a lock, for a lease. Replies when it has them, or when `wait` is over without
// (Answer::lock says which, and who holds it). The same request_id again while it is held gives the
// same holding with its lease begun anew; while it waits, or soon after it waited in vain, the new
// question takes the place of the old one. kInvalid if the lock has fewer permits, kConflict if the
// request_id asked for something else, kExhausted if too many wait or hold.
struct AcquireLock {
    RequestId request = 0;
    Text name;
    std::uint32_t permits = 1;
    Duration ttl{0};
    Duration wait{0};
    Text owner;
    Text request_id;               // May be empty.
    std::uint64_t caller = 0;      // Tells questions with the same request_id apart.
    std::uint64_t token_seen = 0;  // The highest that the caller was ever given, by whichever term.
};

// The caller has gone: its question waits no longer. Unless another has taken its place, which names
// another caller.
struct WithdrawLock {
    Text name;
    Text request_id;
    std::uint64_t caller = 0;
    // Nobody will ask again by this request_id: if it was just given the lock, that is let go.
    bool for_good = false;
};

// Begins the lease anew, or ends it. kConflict if it is no longer held.
struct RenewLock {
    RequestId request = 0;
    Text name;
    Text lock_id;
};
struct ReleaseLock {
    RequestId request = 0;
    Text name;
    Text lock_id;
};

// An operator takes a lock away from a holder, or from all that have it now. kNotFound if there is
// none.
struct FreeLock {
    RequestId request = 0;
    Text name;
    Text lock_id;  // Empty: from all.
    ActPtr by = {};
};

// An operator says how many permits a lock has; remembered by the next leader.
struct SetLock {
    RequestId request = 0;
    Text name;
    std::uint32_t permits = 1;
    ActPtr by = {};
};

// The handler of an attempt asks for a lock, or lets it go. Answered by a LockVerdict; the same
// `ask` again gives the same answer.
struct AskLock {
    SessionId session = 0;
    AttemptRef attempt;
    std::uint64_t ask = 0;  // The handler's number for it; not 0.
    Text name;
    std::uint32_t permits = 1;
    Duration wait{0};
};
struct DropLock {
    SessionId session = 0;
    AttemptRef attempt;
    std::uint64_t ask = 0;
};

// A worker opened a session. `holding` is every attempt it has in hand: running, or finished with a
// result that nobody acknowledged. What the engine thinks it has beyond that never arrived.
struct Attach {
    SessionId session = 0;
    Worker worker;
    std::vector<AttemptRef> holding;
    WorkerLoad load = {};  // Known from the start: it may want nothing yet.
};

// A sign of life.
struct Heartbeat {
    SessionId session = 0;
    WorkerLoad load;
    std::uint32_t capacity = 0;  // What it takes at once from now on; 0: as before.
};

// The connection is gone. The worker may come back within its lease.
struct Detach {
    SessionId session = 0;
};

// The worker leaves for good: it finished or gave up what it had.
struct Goodbye {
    SessionId session = 0;
};

// The worker began an attempt.
struct Started {
    SessionId session = 0;
    AttemptRef attempt;
    Duration ran{0};  // For how long it has been running, as the worker says.
};

// The worker ended an attempt.
struct Report {
    SessionId session = 0;
    AttemptRef attempt;
    bool success = false;
    bool retryable = true;  // A failure that no retry can mend ends the execution.
    OutcomePtr outcome;     // May be null on success.
    Duration ran{0};        // For how long it ran, as the worker says; 0 is not known.
    Duration ended_ago{0};  // How long it had to wait until it could be told.
};

// How far an attempt has come; shown to who looks, not stored.
struct Progress {
    SessionId session = 0;
    AttemptRef attempt;
    double fraction = 0;
    Text message;
};

// The lines that an attempt wrote: whole lines, each ended by a newline.
struct LogLines {
    SessionId session = 0;
    AttemptRef attempt;
    Text lines;
};

// An operator takes a worker out of rotation (kDraining, kMaintenance), puts it back (kOnline) or
// declares it dead (kOffline). Maintenance lasts until an operator ends it; draining ends with the
// worker too: one that was lost comes back online. Replies kNotFound if there is no such worker.
struct SetWorkerStatus {
    RequestId request = 0;
    WorkerId worker;
    WorkerStatus status{};
    Text reason;
    ActPtr by = {};
};

// An operator says how many attempts a worker takes at once, whatever it says itself; 0: its own word
// counts again. Holds for as long as the worker is known, over its sessions and changes of leader. What
// it has in hand stays there; nothing new is given to it while that is as much or more. Replies
// kNotFound if there is no such worker.
struct SetWorkerCapacity {
    RequestId request = 0;
    WorkerId worker;
    std::uint32_t capacity = 0;
    ActPtr by = {};
};

// An operator removes a worker: what it runs is given to others. Replies kNotFound if there is
// none; kConflict if it is connected and has work in hand, which it would go on with beside whoever
// gets it next, unless forced.
struct RemoveWorker {
    RequestId request = 0;
    WorkerId worker;
    bool force = false;
    ActPtr by = {};
};

// The strategy for tasks that name none; remembered by the next leader. Replies with nothing;
// kInvalid if there is no custom strategy of that name.
struct SetStrategy {
    RequestId request = 0;
    std::optional<Strategy> strategy;  // Nothing: the configured one, now and under later leaders.
    Text name;                         // Of a Strategy::kCustom.
    bool reset = false;  // Only forget what the balancers have learned; the strategy stays.
    ActPtr by = {};
};

// Somebody who is known was refused, so many times within a minute: for the audit.
struct NoteRefusal {
    RequestId request = 0;
    AuditEntry entry;
};

// The answer to an effect Lookup: what the store has under the ids asked for, in their order.
struct LookupDone {
    std::vector<ExecutionId> ids;
    std::vector<std::optional<Execution>> found;
};

// The store is full and somebody needs room: what may be purged goes now.
struct MakeRoom {};

// Only time has passed.
struct Tick {};

// Many wait in inboxes, and each takes the room of the largest: the rare large ones are boxed.
using Input =
    std::variant<Submit, Cancel, Redrive, Conclude, PutTask, DeleteTask, PauseTask, Trigger,
                 SetQueue, SetSetting, SwapSettings, Boxed<Configure>, PostAlert, SetStrategy,
                 Boxed<NoteRefusal>, SetWorkerStatus, SetWorkerCapacity, RemoveWorker, AcquireLock,
                 WithdrawLock, RenewLock, ReleaseLock, FreeLock, SetLock, AskLock, DropLock,
                 Boxed<Attach>, Heartbeat, Detach, Goodbye, Started, Progress, LogLines, Report,
                 LookupDone, MakeRoom, Tick>;
static_assert(sizeof(Input) <= 80);

}  // namespace takt::internal
