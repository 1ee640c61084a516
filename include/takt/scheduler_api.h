// SchedulerApi: everything that a scheduler can be asked, whether it lives in this process
// (Scheduler) or in another (Client).
//
//     void Nightly(takt::SchedulerApi& scheduler) {
//         auto task = scheduler.SubmitTask({.type = "report", .payload = R"({"day": "today"})"});
//         if (!task) return Complain(task.error());
//         auto run = scheduler.WaitForTask(task->id, 10min);
//         if (run && run->status == takt::Status::kSuccess) Show(run->result);
//     }
//
// Changes are answered when they are stored. Any scheduler of a cluster may be asked: it passes on
// what only the leader can do. All of it may be called from several threads, many calls at once, and
// blocks but for what is called …Async.
//
// Those return at once. With a callback: it is called once, later, on a thread of this object's own,
// one callback after the other; it may block, ask this object, and destroy it. With a future, by
// takt/future.h: that is all it says, and destroying it does not wait. When the object is destroyed
// (or a Scheduler stopped), what is under way ends with kCancelled, callbacks included, before that
// returns; a callback that does not return within 5 s is left to itself. takt/awaitable.h has the
// same for co_await.
//
// Every call may fail with kUnavailable (nothing was done: no scheduler could be reached, or none
// leads), with kUnknown (the answer was lost; it may have been done) and with kInvalid (refused as
// asked, which includes a missing right). What else a call may fail with stands with it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "takt/error.h"
#include "takt/execution.h"
#include "takt/export.h"
#include "takt/fleet.h"
#include "takt/metrics.h"
#include "takt/operator_api.h"
#include "takt/run.h"
#include "takt/strategy.h"
#include "takt/task.h"

namespace takt {

class HeldLock;      // takt/lock.h
struct LockOptions;  // takt/lock.h

// One of several that were waited for.
struct Ended {
    std::size_t index = 0;  // Which of them.
    Execution execution;
};

class TAKT_EXPORT SchedulerApi : public OperatorApi {
  public:
    ~SchedulerApi() override;

    // --- Tasks ----------------------------------------------------------------------------------

    // kConflict: another task has this id, or an execution with the same unique_key lives.
    // kExhausted: the queue is full.
    Result<TaskRecord> SubmitTask(const Task& task);

    // Up to 10,000 in one call, much cheaper than one by one: an id for each, or why it was not
    // taken, in their order. One that is refused does not stop the others.
    Result<std::vector<Result<std::string>>> SubmitTasks(const std::vector<Task>& tasks);

    // kNotFound. Also of tasks that finished, for as long as the scheduler keeps them.
    Result<TaskRecord> GetTask(std::string_view id);

    // Recurring tasks, by id.
    Result<Page<TaskRecord>> ListTasks(const TaskFilter& filter);
    Result<Page<TaskRecord>> ListTasks() { return ListTasks(TaskFilter()); }
    // Runs in one state, newest first; a task that runs once is listed as its execution. (A
    // template, so that ListTasks({}) means every recurring task.)
    template <std::same_as<Status> Given>
    Result<std::vector<Execution>> ListTasks(Given status, std::size_t limit = 100) {
        return ListInStatus(status, limit);
    }

    // Ends a task that runs once, or one execution of a recurring task. A handler that runs is
    // asked to stop. kNotFound, kConflict: it is finished.
    Result<Execution> CancelTask(std::string_view id, std::string_view reason = {});

    // Ends an execution from outside, in place of its worker: kSuccess, kFailed or kCancelled. What
    // the worker itself says later is refused as stale. kNotFound, kConflict: it is finished, or
    // waits, and cannot have succeeded.
    Result<Execution> UpdateTaskStatus(std::string_view id, Status status,
                                       std::string_view message = {});

    // Runs an execution that failed or was cancelled again. kNotFound, kConflict: it did neither.
    Result<Execution> RetryTask(std::string_view id);

    // Runs a recurring task now, beside its schedule; an empty payload is the task's own (JSON).
    Result<Execution> TriggerTask(std::string_view id, std::string_view payload = {});

    // Of recurring tasks: no fires until resumed. kNotFound.
    Result<TaskRecord> PauseTask(std::string_view id);
    Result<TaskRecord> ResumeTask(std::string_view id);
    // No fires any more. Runs that have begun go on; those that have not are cancelled, or kept and
    // run in the order that the task's mode gives them. kNotFound.
    enum class WaitingRuns { kCancel, kKeep };
    Result<TaskRecord> DeleteTask(std::string_view id, WaitingRuns runs = WaitingRuns::kCancel,
                                  std::uint32_t version = 0);

    // Puts a recurring task in the place of the one of its id, or makes it. With a version: only if
    // it is still that one, kConflict else. A record that was read brings its own:
    //
    //     auto task = client.GetTask("nightly");
    //     task->priority = takt::kPriorityHigh;
    //     auto changed = client.UpdateTask(*task);  // kConflict: somebody else was faster.
    Result<TaskRecord> UpdateTask(const Task& task, std::uint32_t version);
    Result<TaskRecord> UpdateTask(const TaskRecord& task) { return UpdateTask(task, task.version); }

    // All that is wrong with a task, each with its field; empty: it would be taken. Creates nothing.
    Result<std::vector<Error>> ValidateTask(const Task& task);
    // When a recurring task fires next, up to 1000 times. kNotFound.
    Result<std::vector<Time>> GetFires(std::string_view id, std::size_t count = 10);
    // When it would. Creates nothing.
    Result<std::vector<Time>> PreviewFires(const Task& task, std::size_t count = 10);
    // Runs a recurring task for past due times that have no execution. kNotFound.
    Result<Backfill> BackfillTask(std::string_view id, Time from,
                                  const BackfillOptions& options = {});
    // Why a recurring task does not run, in one sentence. kNotFound.
    Result<std::string> ExplainTask(std::string_view id);

    // --- Executions -----------------------------------------------------------------------------

    // kNotFound.
    Result<Execution> GetExecution(std::string_view id);
    // Newest first.
    Result<Page<Execution>> ListExecutions(const ExecutionFilter& filter = {});
    // Its log. kNotFound is not told: an execution that does not exist wrote nothing.
    Result<std::string> GetLog(std::string_view id);
    // A page of it, with the attempt and the time of each part.
    Result<Page<LogChunk>> ReadLog(std::string_view id, std::string_view cursor = {});
    // How many fit a filter, whose limit and cursor do not count; the newest 10,000 are looked at.
    Result<ExecutionCounts> CountExecutions(const ExecutionFilter& filter = {});
    // Runs those again that failed (cancelled ones if `statuses` says so), or ends those that go on:
    // as many as the filter's limit says. One that cannot be changed does not stop the others.
    Result<Sweep> RetryExecutions(const ExecutionFilter& filter);
    Result<Sweep> CancelExecutions(const ExecutionFilter& filter);
    // Where the steps of a run stand. kNotFound: no such execution, or its task has no steps.
    Result<RunRecord> GetRun(std::string_view id);
    // Why an execution has not started or is not finished, in one sentence. kNotFound.
    Result<std::string> Explain(std::string_view id);

    // --- Waiting --------------------------------------------------------------------------------

    // Until the execution, or the only one of a task that runs once, has ended; then it. The
    // scheduler tells when that happens, some milliseconds after it; beyond 200 waits at once over
    // one Client it is asked now and then. Schedulers that are away for a while are waited for.
    // kTimeout when `timeout` has passed; the execution goes on. kNotFound.
    Result<Execution> WaitForTask(std::string_view id, Duration timeout);
    // Each of them, in their order, ended or why not.
    std::vector<Result<Execution>> WaitForAll(const std::vector<std::string>& ids,
                                              Duration timeout);
    // The first of them that ends. An error of any one of them is the answer.
    Result<Ended> WaitForAny(const std::vector<std::string>& ids, Duration timeout);

    // Submits a task that runs once, and waits for its end, both within `timeout`. A task without an
    // id is given one here, so that a submit whose answer was lost is simply repeated: kUnknown is
    // told only if it was so to the end. Errors as of SubmitTask and WaitForTask.
    Result<Execution> Run(const Task& task, Duration timeout);

    // --- Without blocking -----------------------------------------------------------------------

    void SubmitTaskAsync(const Task& task, std::function<void(Result<TaskRecord>)> done);
    void WaitAsync(std::string_view id, Duration timeout,
                   std::function<void(Result<Execution>)> done);
    void RunAsync(const Task& task, Duration timeout, std::function<void(Result<Execution>)> done);
    // The same with a std::future of the Result. Their bodies are in takt/future.h: the standard
    // header takes longer to compile than all of this one, and few programs want it.
    template <typename...>
    auto SubmitTaskAsync(const Task& task);
    template <typename...>
    auto WaitAsync(std::string_view id, Duration timeout);
    template <typename...>
    auto RunAsync(const Task& task, Duration timeout);

    // --- Locks ----------------------------------------------------------------------------------

    // Acquires a lock, standing in line for up to `wait`. kConflict: others hold it. kInvalid: it
    // has fewer permits. Whoever asked in vain because of kUnavailable or kUnknown may hold it
    // until the lease is over. In takt/lock.h.
    Result<HeldLock> Lock(std::string_view name);
    Result<HeldLock> Lock(std::string_view name, const LockOptions& options);

    // --- Workers --------------------------------------------------------------------------------

    // Announces a worker that is called over HTTP. Again: changes what is known of it. Its address
    // must be allowed (executors.allow; loopback is while the scheduler listens on loopback only).
    Result<WorkerRecord> RegisterWorker(const WorkerRegistration& worker);
    // A sign of life from a worker without a health_check_url. kNotFound.
    Result<void> SendHeartbeat(std::string_view worker_id);
    // Takes a worker of any kind off the list; what it runs is given to others. kNotFound.
    Result<void> UnregisterWorker(std::string_view id);
    // kNotFound.
    Result<WorkerRecord> GetWorker(std::string_view id);
    // All of them, by id.
    Result<std::vector<WorkerRecord>> ListWorkers();
    // Gives a worker nothing new; it finishes what it has. And back. kNotFound.
    Result<WorkerRecord> DrainWorker(std::string_view id, std::string_view reason = {});
    Result<WorkerRecord> ResumeWorker(std::string_view id);
    // Gives a worker so many attempts at once, 1 to 100,000, whatever it says itself; nothing: its own
    // word counts again. Holds while the worker is known. What runs goes on. kNotFound.
    Result<WorkerRecord> SetWorkerCapacity(std::string_view id,
                                           std::optional<std::uint32_t> capacity);
    // Why a worker is given nothing, in one sentence. kNotFound.
    Result<std::string> ExplainWorker(std::string_view id);

    // --- The scheduler --------------------------------------------------------------------------

    Result<SchedulerStatus> GetStatus();
    Result<Metrics> GetMetrics();

    // How workers are chosen for tasks that name no strategy: a name of strategy.h. The next leader
    // remembers it.
    Result<std::string> GetLoadBalanceStrategy();
    Result<void> SetLoadBalanceStrategy(std::string_view strategy);
    // Forgets what the strategy has learned: turns, stickiness.
    Result<void> ResetLoadBalancer();

  protected:
    explicit SchedulerApi(std::shared_ptr<Calls> calls);

  private:
    // As those without Now, but `done` is called on the thread that has the answer, and must not block.
    void SubmitNow(const Task& task, std::function<void(Result<TaskRecord>)> done);
    void WaitNow(std::string_view id, Duration timeout,
                 std::function<void(Result<Execution>)> done);
    void RunNow(const Task& task, Duration timeout, std::function<void(Result<Execution>)> done);

    Result<std::vector<Execution>> ListInStatus(Status status, std::size_t limit);
};

}  // namespace takt
