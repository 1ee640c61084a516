// An attempt as its handler sees it, and the result that it gives back.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace takt::internal {

// How an attempt ended. Code 0 is success, any other a failure.
struct TaskResult {
    std::int32_t code = 0;
    std::string message;
    std::string data;    // JSON text, or empty.
    bool final = false;  // A failure that no retry can mend.
    // This worker cannot run such a task at all: unknown type, payload that it cannot read.
    bool rejected = false;

    bool success() const { return code == 0; }

    static TaskResult Success(std::string data = {}) { return {.data = std::move(data)}; }
    static TaskResult Failure(std::string message, std::int32_t code = 1) {
        return {.code = code == 0 ? 1 : code, .message = std::move(message)};
    }
    static TaskResult FinalFailure(std::string message, std::int32_t code = 1) {
        return {.code = code == 0 ? 1 : code, .message = std::move(message), .final = true};
    }
    static TaskResult Rejected(std::string message) {
        return {.code = 1, .message = std::move(message), .final = true, .rejected = true};
    }
};

// Why an attempt is asked to stop.
enum class StopReason : std::uint8_t {
    kNone,
    kTimeout,    // It ran longer than its timeout.
    kCancelled,  // Somebody cancelled it, or it was given to another worker.
    kShutdown,   // The worker stops.
};
std::string_view Name(StopReason reason);

// A call that a handler makes ends this much after the attempt's own deadline, at which the worker
// stops it: so it is the worker that says what happened.
constexpr Duration kDeadlineSlack{5};

// A lock that the task declares, and that the attempt has.
struct DeclaredLock {
    std::string name;
    std::uint64_t token = 0;
    std::uint32_t permits = 1;
};

// A lock that the handler asked for.
struct TaskLock {
    std::uint64_t ask = 0;  // What it is let go by.
    std::uint64_t token = 0;
    std::stop_token lost = {};  // Stopped when somebody takes it away.
};
struct TaskLockOptions {
    Duration wait{30'000};  // How long to stand in line; at most the attempt's timeout.
    std::uint32_t permits = 1;
};

// The task of an attempt, as assigned.
struct AssignedTask {
    std::string execution_id;
    std::string task_id;
    std::string task_name;
    std::string type;
    std::string queue;
    std::uint32_t priority = 0;
    std::uint32_t attempt = 0;   // 1, 2, 3 …
    std::uint32_t failures = 0;  // Attempts that failed before.
    std::uint64_t epoch = 0;
    std::string payload;  // As submitted.
    std::map<std::string, std::string> metadata;
    Time scheduled_at{};
    std::string traceparent;  // W3C trace context to work under, or empty.
    std::string tracestate;
    std::vector<DeclaredLock> locks;
    std::string parent_id;          // The run of a workflow that it is a part of, or empty.
    std::string step;               // Which step of it.
    std::uint32_t shard_index = 0;  // Which part of the step, from 0 …
    std::uint32_t shard_total = 0;  // … of so many; 0: it is not divided.
};

// For writes to systems that can refuse stale ones: a later assignment of the same execution is
// always greater.
struct FencingToken {
    std::uint64_t epoch = 0;
    std::uint32_t attempt = 0;
    friend auto operator<=>(const FencingToken&, const FencingToken&) = default;
};

// Where an attempt's progress and output go. From any thread.
class TaskReporter {
  public:
    virtual ~TaskReporter() = default;
    virtual void OnProgress(double fraction, std::string_view message) = 0;
    virtual void OnLog(std::string_view line) = 0;
    // False while so many lines wait to be sent that more may have to be left out.
    virtual bool HasLogRoom() const { return true; }
    virtual StopReason stop_reason() const = 0;
    // kConflict if it cannot be had in time, kUnavailable if nobody answered, kCancelled if the
    // attempt is to stop.
    virtual Result<TaskLock> AcquireLock(std::string_view, const TaskLockOptions&) {
        return Fail(ErrorCode::kUnavailable, "there are no locks here");
    }
    virtual void ReleaseLock(std::uint64_t) {}
    // Stopped when a lock that the task declares is taken away.
    virtual std::stop_token LockLost(std::string_view) { return {}; }
    // JSON; see takt::TaskContext::StepResult.
    virtual Result<std::string> FetchStep(std::string_view) {
        return Fail(ErrorCode::kUnavailable, "there are no results here");
    }
};

// Valid while the handler runs; may be shared with threads of the handler's own.
class TaskContext {
  public:
    TaskContext(const AssignedTask& task, TaskReporter& reporter, std::stop_token stop,
                std::optional<Steady> deadline)
        : task_(task), reporter_(reporter), stop_(std::move(stop)), deadline_(deadline) {}

    const AssignedTask& task() const { return task_; }
    const std::string& payload() const { return task_.payload; }
    FencingToken fencing_token() const { return {task_.epoch, task_.attempt}; }

    // Asked to stop: return soon. Who does not within the worker's grace is abandoned: the thread
    // is left to itself and what it returns is ignored.
    std::stop_token stop_token() const { return stop_; }
    StopReason stop_reason() const { return reporter_.stop_reason(); }

    // When the attempt will be asked to stop; none if it has no timeout.
    std::optional<Steady> deadline() const { return deadline_; }
    // Until then, never negative; `otherwise` if there is none.
    Duration Remaining(Duration otherwise) const;

    // A lock that lasts until it is let go or the attempt ends; see TaskReporter.
    Result<TaskLock> Lock(std::string_view name, const TaskLockOptions& options) {
        return reporter_.AcquireLock(name, options);
    }
    void Unlock(const TaskLock& lock) { reporter_.ReleaseLock(lock.ask); }
    std::stop_token LockLost(std::string_view name) { return reporter_.LockLost(name); }
    Result<std::string> StepResult(std::string_view step) { return reporter_.FetchStep(step); }

    // Shown to who watches the execution; only the latest counts. `fraction` is 0 to 1.
    void Progress(double fraction, std::string_view message = {}) {
        reporter_.OnProgress(fraction, message);
    }
    // A line of the execution's log; line breaks in it make several.
    void Log(std::string_view line) { reporter_.OnLog(line); }
    // A handler that can wait with its next lines does so while this is false: nothing is left out
    // then.
    bool HasLogRoom() const { return reporter_.HasLogRoom(); }

  private:
    const AssignedTask& task_;
    TaskReporter& reporter_;
    const std::stop_token stop_;
    const std::optional<Steady> deadline_;
};

}  // namespace takt::internal
