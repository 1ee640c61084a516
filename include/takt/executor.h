// Handlers, which run tasks inside a Worker: functions, a TaskProcessor, or objects (Executor).
//
//     worker.Handle("resize", [](takt::TaskContext& task) {
//         if (!Resize(task.payload())) return takt::TaskResult::Failure("no image");
//         return takt::TaskResult::Success(R"({"width": 640})");
//     });
//
// All of these are called on threads of the worker's own, several at once up to its capacity. An
// exception counts as a failure with its text.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "takt/error.h"
#include "takt/export.h"
#include "takt/name.h"
#include "takt/time.h"

namespace takt {

// How an attempt ended. Code 0 is success, any other a failure.
struct TaskResult {
    std::int32_t code = 0;
    std::string message = {};
    std::string data = {};  // JSON, or empty.
    bool final = false;     // A failure that no retry can mend.
    bool rejected = false;  // This worker cannot run such a task at all.

    static TaskResult Success(std::string data = {}) { return {.data = std::move(data)}; }
    // May be retried.
    static TaskResult Failure(std::string message, std::int32_t code = 1) {
        return {.code = code == 0 ? 1 : code, .message = std::move(message)};
    }
    static TaskResult FinalFailure(std::string message, std::int32_t code = 1) {
        return {.code = code == 0 ? 1 : code, .message = std::move(message), .final = true};
    }
    static TaskResult Rejected(std::string message) {
        return {.code = 1, .message = std::move(message), .final = true, .rejected = true};
    }
    bool success() const { return code == 0; }
};

// Why an attempt is asked to stop.
enum class StopReason : std::uint8_t {
    kNone,
    kTimeout,    // It ran longer than its timeout.
    kCancelled,  // Somebody cancelled it, or it was given to another worker.
    kShutdown,   // The worker stops.
};
TAKT_EXPORT std::string_view Name(StopReason reason);
template <>
inline constexpr bool kHasName<StopReason> = true;

struct TaskLockOptions {
    Duration wait{30'000};  // How long to stand in line; at most the attempt's timeout.
    std::uint32_t permits = 1;
};

// A lock that a handler asked for, until the last copy of this goes, Release, or the end of the
// attempt, whoever ends it. Must not outlive the handler's call.
class TAKT_EXPORT TaskLock {
  public:
    // The fencing token: higher than that of everybody who had the lock before.
    std::uint64_t token() const;
    // Stopped when an operator takes it away: somebody else may have it from then on.
    std::stop_token stop_token() const;
    void Release();

  private:
    friend class TaskContext;
    struct TAKT_LOCAL Impl;
    explicit TaskLock(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
    std::shared_ptr<Impl> impl_;
};

// The attempt that a handler runs. Valid until the handler returns; may be shared with threads of
// its own until then.
class TAKT_EXPORT TaskContext {
  public:
    const std::string& execution_id() const;
    const std::string& task_id() const;
    const std::string& task_name() const;
    const std::string& type() const;
    const std::string& queue() const;
    const std::string& payload() const;  // JSON, as submitted.
    const std::map<std::string, std::string>& metadata() const;
    int priority() const;
    std::uint32_t attempt() const;   // 1, 2, 3 …
    std::uint32_t failures() const;  // Attempts that failed before.
    Time scheduled_at() const;
    // A step of a workflow: the run that it is a part of, its name, and which part of so many it is;
    // empty and 0 for all others.
    const std::string& parent_id() const;
    const std::string& step() const;
    std::uint32_t shard_index() const;       // From 0.
    std::uint32_t shard_total() const;       // 0: the step is not divided.
    const std::string& traceparent() const;  // W3C trace context of the submitter, or empty.

    // The result of an earlier step of the same run, as JSON: the list in the order of the shards if
    // the step is divided, with null for what did not succeed. For what is too large for the payload
    // ({"$results": …}), or was not asked for there. kNotFound: the run has no such step, or it is
    // not over. kUnavailable: nobody answered.
    Result<std::string> StepResult(std::string_view step);

    // For writes to systems that can refuse stale ones: (epoch, attempt) of a later assignment of
    // the same execution is always greater.
    std::pair<std::uint64_t, std::uint32_t> fencing_token() const;

    // The fencing token of a lock that the task declares, or that its run holds; 0 if there is none
    // of that name.
    std::uint64_t lock_token(std::string_view name) const;
    // Stopped when an operator takes that lock away.
    std::stop_token lock_stop_token(std::string_view name) const;
    // Acquires a lock while the handler runs; see docs/locks.md. kConflict: it could not be had in
    // time, or this attempt has it already. kUnavailable: nobody answered. kCancelled: the attempt
    // is to stop.
    Result<TaskLock> Lock(std::string_view name, TaskLockOptions options = {});

    // Asked to stop: return soon. Who does not within the worker's stop_grace is abandoned: the
    // thread is left to itself and what it returns is ignored.
    std::stop_token stop_token() const;
    StopReason stop_reason() const;
    // Until the attempt will be asked to stop, never negative; none if it has no timeout.
    std::optional<Duration> remaining() const;

    // Shown to who watches the execution; only the latest counts. `fraction` is 0 to 1.
    void Progress(double fraction, std::string_view message = {});
    // A line of the execution's log.
    void Log(std::string_view line);

    TaskContext(const TaskContext&) = delete;
    TaskContext& operator=(const TaskContext&) = delete;

  private:
    friend struct ContextAccess;
    explicit TaskContext(void* attempt) : attempt_(attempt) {}
    void* attempt_;
};

using TaskFunction = std::function<TaskResult(TaskContext&)>;

// An attempt that goes on after its handler has returned, until it is finished, by whatever the
// handler left it to. Copies are the same attempt. It counts against the worker's capacity, and takes
// no thread.
//
// When it is asked to stop (stop_token), finish it soon; who does not within the worker's stop_grace
// has lost it, and what is said later is ignored. It may outlive the worker. Lock and StepResult block.
class TAKT_EXPORT AsyncTask {
  public:
    TaskContext* operator->() const;
    TaskContext& operator*() const;

    // Ends the attempt; the first call counts. From any thread. If the last copy goes without one, the
    // attempt has failed.
    void Finish(TaskResult result) const;

  private:
    friend struct ContextAccess;
    struct TAKT_LOCAL Impl;
    explicit AsyncTask(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
    std::shared_ptr<Impl> impl_;
};

// Returns soon. What it throws ends the attempt as a failure.
using AsyncTaskFunction = std::function<void(AsyncTask)>;

// How a type of yours is read from a payload and written as a result; specialize it:
//
//     template <>
//     struct takt::Codec<Resize> {
//         static takt::Result<Resize> Read(std::string_view json);  // An error rejects the task.
//         static std::string Write(const Resize& value);            // JSON.
//     };
template <typename T>
struct Codec;

// Runs every type of task that has no handler of its own.
class TAKT_EXPORT TaskProcessor {
  public:
    virtual ~TaskProcessor();
    virtual TaskResult Process(TaskContext& task) = 0;
};

// Runs one type of task.
class TAKT_EXPORT Executor {
  public:
    virtual ~Executor();
    virtual TaskResult Execute(TaskContext& task) = 0;
    // The type that it runs; "*" is every type that has no executor of its own.
    virtual std::string_view Type() const = 0;
    // How it does the work, for people: local, http, grpc, shell, or a name of your own.
    virtual std::string_view Protocol() const = 0;
};

// The executors of a worker, by type.
class TAKT_EXPORT ExecutorRegistry {
  public:
    // kConflict if the type has one already; kInvalid for null or an empty type.
    Result<void> Add(std::shared_ptr<Executor> executor);
    // Protocol "local".
    Result<void> Add(std::string type, TaskFunction function);

    // Null if there is neither one for the type nor one for "*".
    Executor* Find(std::string_view type) const;
    std::vector<std::shared_ptr<Executor>> All() const;  // By type.

  private:
    std::map<std::string, std::shared_ptr<Executor>, std::less<>> executors_;
};

// --- Executors that come with the library --------------------------------------------------------

// POSTs the task as JSON to a URL. 2xx is success with the body as the result; 408, 425, 429, 5xx
// and lost connections are failures that may be retried; any other status is final.
struct HttpExecutorOptions {
    std::string type;
    std::string url;
    std::vector<std::pair<std::string, std::string>> headers = {};
    Duration timeout{30'000};  // Of attempts without a deadline of their own.
    std::string ca_file = {};  // PEM, for https; empty is the system's certificates.
};
TAKT_EXPORT Result<std::shared_ptr<Executor>> MakeHttpExecutor(HttpExecutorOptions options);

// Calls takt.executor.v1.Executor/Execute (proto/executor.proto) at host:port.
struct GrpcExecutorOptions {
    std::string type;
    std::string address;
    bool tls = false;
    std::string ca_file = {};
    std::string token = {};  // Sent as a bearer token; with TLS only.
    Duration timeout{30'000};
};
TAKT_EXPORT Result<std::shared_ptr<Executor>> MakeGrpcExecutor(GrpcExecutorOptions options);

// Runs a process: the exit status is the code, what it prints goes to the execution's log. Its
// group is killed when the attempt is to stop.
struct ShellExecutorOptions {
    // All who may submit a task may then run programs as this process's user. kInvalid without.
    bool allow_shell = false;
    std::string type = "shell";
    // Program and arguments; the payload goes to its standard input. Empty: the payload names them,
    // {"argv": ["ls", "-l"]} or, for a shell to read, {"command": "ls | wc -l"}.
    std::vector<std::string> argv = {};
    // Names of variables that it gets from this process's environment, beside PATH, HOME, USER,
    // LANG, LC_*, TZ and TMPDIR.
    std::vector<std::string> env = {};
};
TAKT_EXPORT Result<std::shared_ptr<Executor>> MakeShellExecutor(ShellExecutorOptions options);

}  // namespace takt
