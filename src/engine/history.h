// History: the fixture of the engine's tests. A test reads as a script: each call is one input at
// one time, and in between time passes as a node would let it pass, tick by tick.
//
// After every step the effects are committed to a model of the store, which checks what every
// history must keep: where a row was before a change, that its states follow the table, that
// attempts only rise, one change per row and batch.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace takt::internal {

using namespace std::chrono_literals;

// Whether `to` can be reached from `from` in one or more allowed changes. A batch shows only the
// last of them.
bool CanReach(Status from, Status to);

// The rows that a store would have after every commit, with nothing lost and nothing slow.
class ModelStore {
  public:
    struct Row {
        Place place = Place::kNone;
        Execution execution;
    };

    // Applies a batch. Fails the test if it contradicts what is there.
    void Apply(const std::vector<Change>& changes);

    const Row* Find(const ExecutionId& id) const;

    std::map<ExecutionId, Row> executions;
    std::map<TaskId, TaskRow> tasks;
    std::map<WorkerId, Worker> workers;
    std::map<Text, Text> settings;
    std::map<std::pair<RecordKind, Text>, Text> records;
    std::vector<Event> events;
    std::vector<LogChunk> logs;
    std::vector<Purge> purges;
    std::vector<AuditRow> audit;

  private:
    void Apply(const ExecutionChange& change);
};

// A task as a test wants it; what is not named is plain.
struct OnceSpec {
    std::string id;  // Empty: generated.
    std::string name = "test";
    std::string type = "work";
    std::string queue = "default";
    std::string payload;
    std::uint8_t priority = kPriorityNormal;
    Duration run_at{0};  // Since the history began; 0 is at once.
    Duration delay{0};
    Duration timeout{0};
    Duration expires_after{0};
    std::optional<RetryPolicy> retry;
    std::optional<Strategy> strategy;
    std::string strategy_name;
    Pairs labels;
    std::string target;
    std::string unique_key;
    Duration unique_for{0};
    std::string concurrency_key;
    std::uint32_t concurrency_max = 0;
    RateLimit rate;
    std::vector<LockWant> locks;
};

// A recurring task as a test wants it. `options` are its own but for the recurrence; times are
// since the history began, 0 is none.
struct RecurringSpec {
    std::string id = "report";
    std::string cron;
    Duration every{0};
    Duration after_end{0};
    Duration start_at{0};
    Duration end_at{0};
    std::uint64_t fires_max = 0;
    Duration jitter{0};
    std::vector<Text> excluded_dates;
    std::string queue = "default";
    std::string payload;
    TaskOptions options;
    bool create_only = false;
    std::uint32_t if_version = 0;
};

struct WorkerSpec {
    std::string id;
    std::uint32_t capacity = 1;
    std::uint32_t weight = 1;
    std::string instance = "1";
    std::vector<Text> types;
    std::vector<Text> queues;
    Pairs labels;
    std::string group;
    std::vector<AttemptRef> holding;
    LinkKind link = LinkKind::kStream;
};

class History : public ::testing::Test {
  protected:
    // REQUIRES: before the first At.
    EngineConfig config;

    // The effects that were released so far, in order; a test clears what it has seen.
    std::vector<Assign> assigns;
    std::vector<StopAttempt> stops;
    std::vector<Verdict> verdicts;
    std::vector<LockVerdict> lock_verdicts;
    std::vector<CloseSession> closes;
    std::vector<DrainNotice> drains;
    std::vector<CapacityNotice> capacities;
    std::vector<Lookup> lookups;
    std::vector<Event> events;
    std::vector<LogChunk> logs;
    std::map<RequestId, Result<Execution>> replies;
    std::map<RequestId, TaskRow> task_replies;     // Of those that were about a task and went well.
    std::map<RequestId, LockAnswer> lock_replies;  // Of those about a lock.

    ModelStore store;
    bool answer_lookups = true;  // From the model store, right after their release.
    bool tick_between = true;    // Let deadlines before an input pass, as a node does.

    // One input at one time since the history began, committed on its own.
    void At(Duration at, Input input);

    // Nothing happens but time.
    void Until(Duration at);

    // Inputs between Gather and Commit share one batch.
    void Gather() { gathering_ = true; }
    void Commit();

    // The leader dies, with what it had not committed; another takes over what the store has.
    void Restart(Duration at);
    // The store has lost everything, and the next leader begins from that.
    void RestartWithoutStore(Duration at);

    // The wall clock is set, forward or back; the steady clock does not notice.
    void JumpWall(Duration by) { wall_offset_ += by; }

    // --- Inputs, as of now: let time pass first if what they name changes meanwhile ---
    Submit Once(OnceSpec spec);
    Cancel CancelOf(const std::string& id);
    Redrive RedriveOf(const std::string& id);
    PutTask Put(RecurringSpec spec);
    DeleteTask Drop(const std::string& task);
    PauseTask Pause(const std::string& task) { return {++request_, TaskId(Text(task)), true}; }
    PauseTask Resume(const std::string& task) { return {++request_, TaskId(Text(task)), false}; }
    Trigger TriggerOf(const std::string& task, std::string payload = {}, bool force = false);
    SetQueue Limit(const std::string& queue, QueueLimits limits);
    SetStrategy Use(Strategy strategy, std::string name = {});
    Attach Join(WorkerSpec spec);
    Heartbeat Beat(const std::string& worker) { return {SessionOf(worker), {}}; }
    Detach Cut(const std::string& worker) { return {SessionOf(worker)}; }
    Goodbye Bye(const std::string& worker) { return {SessionOf(worker)}; }
    SetWorkerStatus Set(const std::string& worker, WorkerStatus status);
    SetWorkerCapacity Resize(const std::string& worker, std::uint32_t capacity) {
        return {++request_, WorkerId(Text(worker)), capacity};
    }
    RemoveWorker Remove(const std::string& worker, bool force = true);
    Started Begun(const std::string& id);
    Report Success(const std::string& id);
    Report Failure(const std::string& id, bool retryable = true);
    Report ReportOf(const AttemptRef& attempt, const std::string& worker, bool success);

    // Nobody leads until then: time passes and nothing happens.
    void Down(Duration until);

    // --- Looking ---
    Engine& engine();
    const TaskRow& TaskOf(const std::string& id);  // As stored.
    // The executions of a recurring task, oldest first, as stored.
    std::vector<const Execution*> RunsOf(const std::string& task) const;
    // Their due times since the history began, in milliseconds, of those with the status.
    std::vector<std::int64_t> DueOf(const std::string& task, std::optional<Status> status) const;
    // The id of the `index`th of them.
    std::string RunOf(const std::string& task, std::size_t index) const;
    // Ends every attempt that is under way with success.
    void FinishAll(Duration at);
    std::string CodeOf(const std::string& id);  // Of its explanation.
    // The reply to the last question asked; fails the test if there is none.
    const Result<Execution>& LastReply();
    bool Answered() const { return replies.contains(request_); }
    RequestId LastRequest() const { return request_; }
    RequestId NextRequest() { return ++request_; }
    Status StatusOf(const std::string& id);
    const Execution& Row(const std::string& id);  // As stored.
    AttemptRef RefOf(const std::string& id);      // Of the last assignment.
    SessionId SessionOf(const std::string& worker) const;
    std::vector<std::string> AssignedIds() const;
    std::vector<std::string> AssignedWorkers() const;
    std::size_t HandOf(const std::string& worker);
    std::size_t EventCount(EventType type) const;
    Time WallAt(Duration at) const { return kBegin + wall_offset_ + at; }
    std::size_t changes_in_last_commit() const { return changes_in_last_commit_; }
    std::size_t changes_in_largest_step() const { return changes_in_largest_step_; }
    std::size_t bytes_in_largest_step() const { return bytes_in_largest_step_; }

    static constexpr Time kBegin = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);

  private:
    // A history that ticks more often than this between two inputs does so for ever.
    static constexpr int kTicksMax = 200'000;

    Instant InstantAt(Duration at) const;
    void Begin(Duration at);
    void Step(Duration at, Input input);
    void Release(Duration at);

    std::unique_ptr<Engine> engine_;
    Effects effects_;
    std::uint64_t epoch_ = 0;
    Duration now_{0};
    Duration wall_offset_{0};
    Serial last_serial_ = 0;
    bool gathering_ = false;
    RequestId request_ = 0;
    SessionId session_ = 0;
    std::map<std::string, SessionId> sessions_;
    std::size_t changes_in_last_commit_ = 0;
    std::size_t changes_in_largest_step_ = 0;
    std::size_t bytes_in_largest_step_ = 0;
};

}  // namespace takt::internal
