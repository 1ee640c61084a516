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
};

}  // namespace takt::internal
