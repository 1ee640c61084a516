// Task: what to run and when. Immutable once made; a change makes a new one with a higher version.
#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/text.h"
#include "base/time.h"

namespace takt::internal {

constexpr std::uint8_t kPriorityMax = 9;
constexpr std::uint8_t kPriorityNormal = 5;

// low 2, normal 5, high 7, urgent 9, or a digit.
std::optional<std::uint8_t> ParsePriority(std::string_view name);

struct RetryPolicy {
    std::uint32_t retries_max = 3;  // Failed attempts beyond this many end the execution.
    Duration delay{10'000};         // Before the first retry.
    double backoff_rate = 2.0;      // Each later delay is the one before times this.
    Duration delay_max{3'600'000};  // No delay is longer.
    double jitter = 0.1;            // Each delay is shortened by up to this fraction, at random.

    friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

// The delay before retry number `retry` (1, 2, …), before jitter. Never overflows, never above
// delay_max.
Duration RetryDelay(const RetryPolicy& policy, std::uint32_t retry);

// The effect of a fire when the previous execution of the task is still going.
enum class Mode : std::uint8_t { kSequential, kParallel, kSkip, kReplace };

// The fate of fires whose time passed while nobody could fire them.
enum class Misfire : std::uint8_t { kFireOnce, kFireAll, kSkip };

// How local times that daylight saving time skips or repeats are fired.
enum class Dst : std::uint8_t { kOnce, kSkip, kTwice };

// How a worker is chosen among the eligible ones.
enum class Strategy : std::uint8_t {
    kLeastTasks,
    kRoundRobin,
    kWeightedRoundRobin,
    kRandom,
    kConsistentHash,
    kLeastConnections,
    kCapacityBased,
    kSticky,
    kResourceAware,
    kCustom,
};

std::string_view Name(Mode mode);
std::string_view Name(Misfire misfire);
std::string_view Name(Dst dst);
std::string_view Name(Strategy strategy);
std::optional<Mode> ParseMode(std::string_view name);
std::optional<Misfire> ParseMisfire(std::string_view name);
std::optional<Dst> ParseDst(std::string_view name);
// The names above, and other kits' names for some: least_loaded, least_load, weighted.
std::optional<Strategy> ParseStrategy(std::string_view name);

// When a recurring task fires. Exactly one of cron, every and every_after_end is set.
struct Recurrence {
    Text cron;                    // As written, with 5, 6 or 7 fields or an @name.
    Text timezone;                // IANA name; empty is UTC.
    Duration every{0};            // Fixed rate: each fire this long after the one before.
    Duration every_after_end{0};  // Fixed delay: each fire this long after the last run ended.
    Dst dst = Dst::kOnce;
    Time start_at{};                   // No fire before; 0 is none.
    Time end_at{};                     // No fire at or after; 0 is none.
    std::uint64_t fires_max = 0;       // 0 is no limit.
    Duration jitter{0};                // Each fire is delayed by up to this, at random.
    std::vector<Text> excluded_dates;  // "2026-12-25", in the task's time zone.

    friend bool operator==(const Recurrence&, const Recurrence&) = default;
};

struct RateLimit {
    std::uint32_t count = 0;  // At most this many starts …
    Duration per{0};          // … in this time. 0 is no limit.

    friend bool operator==(const RateLimit&, const RateLimit&) = default;
};

using Pairs = std::vector<std::pair<Text, Text>>;  // Sorted by the first.

// A lock that an execution must have while an attempt of it goes on.
struct LockWant {
    Text name;
    std::uint32_t permits = 1;

    friend bool operator==(const LockWant&, const LockWant&) = default;
};
constexpr std::size_t kLocksPerTaskMax = 16;
// The steps of a task (workflow.h), shared by all who hold it. Equal if both say the same.
class Workflow;
struct WorkflowPtr : std::shared_ptr<const Workflow> {
    using std::shared_ptr<const Workflow>::shared_ptr;
    friend bool operator==(const WorkflowPtr& a, const WorkflowPtr& b);
};

// The options that most one-off tasks do without. Apart, so that a million of them stay small.
struct TaskOptions {
    std::optional<RetryPolicy> retry;  // Else the scheduler's default.
    std::optional<Strategy> strategy;  // Else the scheduler's current one.
    Text strategy_name;                // For Strategy::kCustom.
    Pairs metadata;
    Pairs labels;     // A worker must carry all of them.
    Text target;      // The only service, worker group or worker that may run it; REST: executor.
    Text unique_key;  // While an execution with this key lives (or within unique_for), no second.
    Duration unique_for{0};
    Duration delay{0};          // One-off tasks: not before this long after they were accepted.
    Duration expires_after{0};  // Dropped if not started this long after its time; 0 is never.
    Text trace;                 // W3C traceparent of the submitter.
    Text trace_state;           // Its tracestate, handed on as it came.
    Text concurrency_key;       // Executions that share the key share concurrency_max and rate.
    std::uint32_t concurrency_max = 0;
    RateLimit rate;
    std::vector<LockWant> locks;  // Had all at once by each attempt; at most kLocksPerTaskMax.
    WorkflowPtr workflow;  // A task that has steps; its `type` is empty unless they are its shards.

    // Recurring tasks only.
    std::optional<Recurrence> recurrence;
    Mode mode = Mode::kSequential;
    Misfire misfire = Misfire::kFireOnce;
    std::uint32_t misfires_max = 100;  // For kFireAll: more are recorded as missed.
    std::uint32_t backlog_max = 100;   // For kSequential: fires beyond are skipped.
    Duration start_deadline{0};        // A fire later than this is missed; 0 is no deadline.
    bool catch_up_after_pause = false;

    friend bool operator==(const TaskOptions&, const TaskOptions&) = default;
};

struct Task : boost::intrusive_ref_counter<Task, boost::thread_safe_counter> {
    TaskId id;
    Text name;
    Text type;
    Text queue;    // Never empty.
    Text payload;  // Bytes as given; JSON unless the submitter says otherwise.
    std::uint8_t priority = kPriorityNormal;
    std::uint32_t version = 1;
    Duration timeout{0};  // Of one attempt; 0 is the scheduler's default.
    Time run_at{};        // One-off tasks: not before. 0 is at once, or after options.delay.
    Time created_at{};
    Time updated_at{};
    std::unique_ptr<const TaskOptions> options;  // May be null: all defaults.

    Task() = default;
    Task(const Task& other);
    Task& operator=(const Task&) = delete;

    // Never null: the options, or the defaults.
    const TaskOptions& opt() const;
    bool recurring() const { return options && options->recurrence.has_value(); }
    // Null if it has no steps; else its executions are runs.
    const Workflow* workflow() const { return options ? options->workflow.get() : nullptr; }
};

using TaskPtr = boost::intrusive_ptr<const Task>;
using NewTaskPtr = boost::intrusive_ptr<Task>;  // Not accepted yet; still may be changed.

// A stretch of due times that are to come if a clock that ran ahead comes back, although later ones
// are accounted for. Both ends belong to it.
struct PassedOver {
    Time from{};
    Time to{};
    bool missed = false;  // They are on record as missed; else nobody has dealt with them.

    bool operator==(const PassedOver&) const = default;
};

// How many of them a task remembers: one for each time that a clock jumps ahead.
constexpr std::size_t kPassedOverMax = 16;

// Where a recurring task stands. Written in the same batch as the fires it accounts for, so that a
// new leader continues exactly where the old one was.
struct FireState {
    bool paused = false;
    Time next_at{};  // The next due time; 0 when none is left.
    Time last_at{};  // The latest due time that was accounted for: run, skipped or missed.
    Time paused_at{};
    std::uint64_t fires = 0;   // Runs made of due times, skipped ones too; fires_max counts these.
    std::uint64_t missed = 0;  // Due times dropped by the misfire policy or by a pause.
    // The due times from `first_at` to `last_at` are accounted for, but for those of `passed`, which
    // is in order and without overlaps. See engine/passed_over.h.
    Time first_at{};  // 0: not known, and so all up to `last_at` are.
    std::vector<PassedOver> passed = {};
    // Mode::kReplace: runs with a lower serial are still to be ended; 0 if there are none.
    Serial replaced_below = 0;
};

// A recurring task as stores keep it. One-off tasks have no row of their own: see Execution.
struct TaskRow {
    TaskPtr task;
    FireState state;
};

// Whether both ask for the same thing: all but version, created_at, updated_at and the trace are
// equal.
bool SameRequest(const Task& a, const Task& b);

// Whether a step of a run would wait for ever for the permit that the run holds until it ends. Who
// shares only a rate waits for nobody.
bool WouldWaitForRun(const TaskOptions& run, const TaskOptions& step);

// kNotFound: no recurring task has this id. The one sentence that engine and stores say it with.
std::unexpected<Error> NoSuchTask(const TaskId& id);

}  // namespace takt::internal
