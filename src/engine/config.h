// Settings of the engine: how it decides. Documented for users in docs/configuration.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/id.h"
#include "base/time.h"
#include "engine/balancer.h"
#include "model/event.h"
#include "model/namespace.h"
#include "model/task.h"

namespace takt::internal {

// The term that an engine is made for.
struct TermView {
    Partition partition = 0;
    std::uint64_t epoch = 0;
};

// For tests of the tests: each breaks one promise, and the simulator must notice.
struct Sabotage {
    bool accept_any_attempt = false;
    bool forget_failures_on_load = false;
    bool forget_fires = false;
    bool forget_missed = false;
    bool forget_turns_on_load = false;
    bool forget_limits_on_load = false;
    bool forget_keys_on_load = false;
    bool forget_expiry = false;
    bool forget_pace = false;
    bool reuse_lock_tokens = false;
    bool keep_released_locks = false;
    bool skip_lock_waiters = false;
    bool start_in_ended_runs = false;
    bool forget_cursor = false;
    bool forget_waiting = false;
    bool forget_results = false;
    bool forget_ending_on_load = false;
    bool old_progress_on_load = false;
    bool forget_run_locks_on_load = false;
};

struct EngineConfig {
    RetryPolicy retry;                     // For tasks that name none.
    Duration timeout{300'000};             // Of an attempt, for tasks that name none.
    Duration timeout_grace{5'000};         // The worker ends an attempt itself; after this we do.
    Duration worker_lease{30'000};         // A worker silent for longer is lost.
    Duration takeover_grace{10'000};       // A new leader waits this long for workers to come back,
                                           // and never less than worker_lease.
    Duration worker_forgotten{3'600'000};  // An offline worker's row is kept this long.
    std::size_t workers_max = 10'000;      // Known at once, online or not; one more is refused.
    std::uint32_t losses_max = 5;          // An execution that lost this many workers is failed.
    std::size_t pending_max = 1'000'000;   // Per queue: a submit beyond is refused.
    Duration retention{7 * 86'400'000};    // Finished executions and events are kept this long.
    Duration audit_retention{90LL * 86'400'000};  // The audit is kept this long.
    Duration cleanup_interval{300'000};  // How often that is looked at when nothing else happens.
    Strategy strategy = Strategy::kLeastTasks;
    Text strategy_name;  // For Strategy::kCustom.
    // Strategies of the embedding program, by name; what Strategy::kCustom refers to.
    std::map<std::string, std::function<std::unique_ptr<Balancer>()>> balancers;
    // How long a leader of the past may still have renewed leases of locks: a new leader counts them
    // anew, longer by this.
    Duration leader_ttl{10'000};
    std::size_t lock_waiters_max = 100'000;  // Beyond, one more is refused.
    std::size_t lock_holders_max = 1'000'000;
    Duration ageing{0};                 // Waiting this long counts as one priority more; 0 is off.
    Quotas quotas;                      // Of the namespace.
    Duration misfire_tolerance{5'000};  // A fire this late is not missed yet, whatever the policy.
    std::uint64_t log_bytes_max = 1 << 20;  // Of one execution's output; what is beyond is dropped.
    // Bits by EventType: these events are stored, the others only sent to who listens.
    std::uint32_t events_stored =
        1u << int(EventType::kTaskFailed) | 1u << int(EventType::kTaskCancelled) |
        1u << int(EventType::kWorkerJoined) | 1u << int(EventType::kWorkerLeft) |
        1u << int(EventType::kWorkerOnline) | 1u << int(EventType::kWorkerOffline) |
        1u << int(EventType::kLeaderChanged) | 1u << int(EventType::kAlert);
    // A step stops starting new work when it has made this many changes, so that batches fit the
    // narrowest store (etcd: 128 operations per transaction, up to three for one fire).
    std::size_t changes_per_step = 32;
    // … and when they are of this size together, as SizeOf counts them. Rows carry payloads and
    // results, so 32 of them may be far more than a store takes at once.
    std::size_t bytes_per_step = 1u << 20;
    // Executions that one Purge may delete: what the store can do in one commit.
    std::uint32_t purge_max = 1'000;

#ifdef TAKT_FAIL_POINTS
    Sabotage sabotage;
#else
    static constexpr Sabotage sabotage{};  // Not in a release: nothing can switch it on.
#endif
};

}  // namespace takt::internal
