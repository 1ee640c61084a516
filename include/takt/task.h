// Task: what to run and when. Whatever is left out has a sensible default.
//
//     takt::Task task{.name = "nightly report",
//                     .type = "report",
//                     .payload = R"({"customer": 12345})",
//                     .retry = {.max_retries = 3, .delay = 1min},
//                     .timeout = 10min,
//                     .cron_expression = "0 2 * * *",
//                     .timezone = "Asia/Shanghai"};
//
// A task with cron_expression, interval or interval_after_end recurs; any other runs once, at once,
// at run_at or after delay. What does not go together is refused with the field at fault.
// docs/scheduling.md has the rules.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "takt/execution.h"
#include "takt/export.h"
#include "takt/name.h"
#include "takt/policy.h"
#include "takt/step.h"
#include "takt/time.h"

namespace takt {

// 0 to 9; higher goes first.
constexpr int kPriorityLow = 2;
constexpr int kPriorityNormal = 5;
constexpr int kPriorityHigh = 7;
constexpr int kPriorityUrgent = 9;

// The effect of a fire while the previous run of its task is still going.
enum class ExecutionMode : std::uint8_t { kSequential, kParallel, kSkip, kReplace };

// The fate of fires whose time passed while nobody could fire them.
enum class MisfirePolicy : std::uint8_t { kFireOnce, kFireAll, kSkip };

// How local times that daylight saving time skips or repeats are fired.
enum class Dst : std::uint8_t { kOnce, kSkip, kTwice };

// "sequential", "fire_once" and so on.
TAKT_EXPORT std::string_view Name(ExecutionMode mode);
TAKT_EXPORT std::string_view Name(MisfirePolicy policy);
TAKT_EXPORT std::string_view Name(Dst dst);
template <>
inline constexpr bool kHasName<ExecutionMode> = true;
template <>
inline constexpr bool kHasName<MisfirePolicy> = true;
template <>
inline constexpr bool kHasName<Dst> = true;

struct Task {
    // 1 to 64 characters of A-Z a-z 0-9 . _ ~ -, or empty: the scheduler makes one. With an id of
    // your own a submit can be repeated safely: the same task again changes nothing, another one
    // under the same id is kConflict.
    std::string id = {};
    std::string name = {};  // What people call it; empty is the type.
    std::string type = {};  // What workers know it by; empty is the name.
    std::string queue = "default";
    int priority = kPriorityNormal;
    std::string payload = {};                          // JSON; empty is null.
    std::map<std::string, std::string> metadata = {};  // Passed on to the worker.

    // The workers that may run it.
    std::map<std::string, std::string> labels = {};  // A worker must carry all of them.
    std::string executor = {};  // The only worker group or executor that may run it; empty is any.
    std::string load_balance_strategy = {};  // A name of strategy.h; empty: the scheduler's.

    RetryPolicy retry = {};
    Duration timeout{0};        // Of one attempt; 0 is the scheduler's default.
    Duration expires_after{0};  // Dropped if not started this long after its time; 0 is never.

    // For tasks that run once.
    std::string unique_key = {};  // While an execution with this key lives, no second one;
    Duration unique_for{0};       // also after its end, this long from its creation.

    std::string concurrency_key =
        {};  // Executions that share it share concurrency_max, rate_limit.
    std::uint32_t concurrency_max = 0;  // At most so many at once; 0 is no limit.
    RateLimit rate_limit = {};
    std::vector<LockWant> locks = {};  // That each attempt, or a run, must have, all at once.

    // A workflow: a task with steps has no type of its own, and its payload is the run's input. See
    // workflow.h.
    std::vector<Step> steps = {};
    OnFailure on_failure = OnFailure::kStop;
    // Without steps: so many executions, or one on each worker, instead of one.
    std::uint32_t shards = 0;
    bool each_worker = false;
    std::uint32_t parallel_max = 0;  // So many of these at a time; 0 is no limit.
    std::uint32_t min_success = 0;   // Done when so many have succeeded; 0 is all.

    // When to run it once.
    std::optional<Time> run_at = {};  // Not before. Excludes delay.
    Duration delay{0};                // Not before this long after it was accepted.

    // When to run it again and again; one of the first three.
    std::string cron_expression = {};  // 5 fields, 6 with seconds first, or @daily and friends.
    Duration interval{0};              // Fixed rate: from fire to fire.
    Duration interval_after_end{0};    // Fixed delay: from the end of a run to the next fire.
    std::string timezone = {};         // IANA name; empty is UTC.
    Dst dst = Dst::kOnce;
    std::optional<Time> start_at = {};             // No fire before.
    std::optional<Time> end_at = {};               // No fire at or after.
    std::uint32_t fires_max = 0;                   // 0 is no limit.
    Duration jitter{0};                            // Each fire is delayed by up to this, at random.
    std::vector<std::string> excluded_dates = {};  // "2026-12-25", in the task's time zone.
    ExecutionMode execution_mode = ExecutionMode::kSequential;
    MisfirePolicy misfire_policy = MisfirePolicy::kFireOnce;
    std::optional<std::uint32_t> misfires_max = {};  // For kFireAll: more are recorded as missed.
    std::optional<std::uint32_t> backlog_max = {};   // For kSequential: fires beyond are skipped.
    Duration start_deadline{0};                      // A fire later than this is missed; 0 is none.
    bool catch_up_after_pause = false;  // Whether fires that a pause held back are made up for.
    bool enabled = true;                // False: paused, no fires.

    bool recurring() const {
        return !cron_expression.empty() || interval > Duration(0) ||
               interval_after_end > Duration(0);
    }
};

// A task as the scheduler has it, with its defaults filled in.
struct TaskRecord : Task {
    std::uint32_t version = 0;  // Rises with each change.

    // Of a task that runs once: its execution. Status, worker, attempts and result are there.
    std::optional<Execution> execution;

    // Of a recurring task.
    std::optional<Time> created_at;
    std::optional<Time> updated_at;
    std::optional<Time> next_fire_at;  // None while it is paused, or when no fire is left.
    std::optional<Time> last_fire_at;
    std::uint64_t fires = 0;   // Fires made so far.
    std::uint64_t missed = 0;  // Due times that the misfire policy or a pause dropped.
};

// Which recurring tasks to list.
struct TaskFilter {
    std::string name_contains = {};
    std::string search = {};  // In name, id, type, queue and metadata.
    std::string type = {};
    std::string queue = {};
    std::string metadata = {};  // One pair, name=value.
    std::string state = {};     // active, paused or over.
    std::size_t limit = 100;    // 1 to 1000 for one page.
    std::string cursor = {};
};

}  // namespace takt
