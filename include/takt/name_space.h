// Namespaces: parts of one cluster that share nothing but its processes and its store. See
// docs/namespaces.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "takt/metrics.h"
#include "takt/policy.h"
#include "takt/time.h"

namespace takt {

// The most that a namespace may use; 0 is no bound.
struct NamespaceQuotas {
    std::uint64_t executions_waiting = 0;
    std::uint64_t submits_per_second = 0;  // Each task of a bulk counts.
    std::uint64_t payload_bytes = 0;       // Of all executions that are not finished.
    std::uint64_t workers = 0;             // Online at once, executors too.
    std::uint64_t log_bytes = 0;           // Kept of one execution.
    Duration retention{0};                 // Finished executions are kept no longer.
};

// Decisions of its own; what is left out is as the scheduler's configuration says.
struct NamespaceSettings {
    std::optional<Duration> retention = {};
    std::optional<Duration> audit_retention = {};
    std::optional<Duration> timeout = {};          // Of an attempt, for tasks that name none.
    std::optional<RetryPolicy> retry_policy = {};  // For tasks that name none.
    std::string load_balance_strategy = {};        // A name of strategy.h.
};

struct Namespace {
    std::string name = {};  // 1 to 63 of a-z, 0-9 and '-', and not '-' first.
    NamespaceQuotas quotas = {};
    NamespaceSettings settings = {};
};

// A namespace as the cluster has it.
struct NamespaceRecord : Namespace {
    std::uint32_t number = 0;    // Of its partition in the store.
    std::string state;           // active, deleting (until everything in it has ended), empty.
    std::string leader_node_id;  // Empty while nobody leads it.
    std::string leader_address;
    std::optional<Time> created_at;  // None: it was always there.
};

}  // namespace takt
