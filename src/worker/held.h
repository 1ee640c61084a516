// Held: an attempt in the worker's hand, from its assignment to the acknowledgement of its result.
#pragma once

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "worker/fetch_call.h"
#include "worker/lock_call.h"
#include "worker/task_context.h"

namespace takt::internal {

class Mailbox;

// Until when no scheduler has taken the worker for dead. Set by the network thread, read by those
// of handlers.
using LeaseEnd = std::atomic<SteadyClock::rep>;

struct Held final : TaskReporter, std::enable_shared_from_this<Held> {
    enum class Phase : std::uint8_t {
        kWaiting,
        kRunning,
        kWithdrawn,  // Never begun, and never will be.
        kEnded,      // Has a result, the handler's or ours.
    };

    AssignedTask task;
    std::string token;
    bool async = false;  // Its handler returns before it ends.
    Duration timeout{0};
    std::shared_ptr<Mailbox> mailbox;
    std::stop_source stop;
    std::atomic<StopReason> reason = StopReason::kNone;

    // kWaiting ends where the pool and the network thread meet: whoever changes it has it.
    std::atomic<Phase> phase = Phase::kWaiting;

    // Set by the handler's thread before it tells that it has begun.
    std::optional<Steady> begun;
    std::optional<Steady> deadline;

    // The mailbox's, under its lock: not yet taken by the network thread.
    struct News {
        bool listed = false;
        bool progressed = false;
        double fraction = 0;
        std::string message;
        std::list<std::string> lines;     // Takes no memory while it is empty.
        std::uint64_t lines_dropped = 0;  // Behind the last of `lines`.
    } news;

    std::atomic<std::uint64_t> asks = 0;  // For locks and results, so far.
    // By the names of declared locks: stopped when one is taken away. Filled before the handler runs.
    std::map<std::string, std::stop_source, std::less<>> declared_lost;

    // The network thread's.
    std::map<std::uint64_t, LockCallPtr> lock_calls;    // Not answered yet, by their numbers.
    std::map<std::uint64_t, LockCallPtr> lock_held;     // Had, by the same.
    std::list<std::uint64_t> lock_drops;                // The latest.
    std::map<std::uint64_t, FetchCallPtr> fetch_calls;  // Not answered yet.
    TaskResult result;
    std::optional<Steady> running_since;  // As `begun`, once that was told.
    Duration ran{0};                      // Once it has ended …
    Steady ended_at{};                    // … and when.
    std::optional<StopReason> ended_by;   // It was stopped, rather than ended by itself.
    bool started_due = false;             // To be told to the scheduler.
    bool result_due = false;
    bool news_due = false;       // Its result waits for them: it is the last that is said of it.
    bool result_sent = false;    // On this session, and not acknowledged.
    std::uint32_t refusals = 0;  // Sessions that were refused while its result was under way.
    std::optional<Steady> due;   // In the list of deadlines: its timeout or the end of its grace.

    // How long the handler has been running; 0 if it has not begun. The network thread's.
    Duration RanFor(Steady now) const {
        if (!running_since) return Duration(0);
        return std::chrono::duration_cast<Duration>(now - *running_since);
    }

    // As the scheduler says it of attempts that it ends itself.
    std::string TimeoutMessage() const {
        return "took longer than its timeout of " + FormatDuration(timeout);
    }

    void OnProgress(double fraction, std::string_view message) override;
    void OnLog(std::string_view line) override;
    bool HasLogRoom() const override;
    StopReason stop_reason() const override { return reason; }
    Result<TaskLock> AcquireLock(std::string_view name, const TaskLockOptions& options) override;
    void ReleaseLock(std::uint64_t ask) override;
    std::stop_token LockLost(std::string_view name) override;
    Result<std::string> FetchStep(std::string_view step) override;
};

using HeldPtr = std::shared_ptr<Held>;

}  // namespace takt::internal
