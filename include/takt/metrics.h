// Metrics, a scheduler's word on itself: numbers, and who leads.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "takt/time.h"

namespace takt {

// Numbers of the whole cluster, from its leader. Totals are those since it began to lead.
struct Metrics {
    std::uint64_t tasks_total = 0;  // Live ones and finished ones.
    std::uint64_t tasks_pending = 0;
    std::uint64_t tasks_scheduled = 0;
    std::uint64_t tasks_running = 0;
    std::uint64_t tasks_retrying = 0;
    std::uint64_t tasks_completed = 0;
    std::uint64_t tasks_failed = 0;
    std::uint64_t tasks_cancelled = 0;
    std::uint64_t workers_online = 0;
    std::uint64_t workers_offline = 0;
    double worker_utilization = 0;  // Of the capacity of the workers that are online, 0 to 1.
    double task_throughput = 0;     // Executions completed per second, lately.
    std::chrono::seconds scheduler_uptime{0};
};

// A scheduler of the cluster.
struct SchedulerNode {
    std::string node_id;
    std::string address;
    std::string version;
    std::optional<Time> started_at;
};

struct SchedulerStatus {
    std::string node_id;
    std::string role;  // leader, follower, loading or stopped.
    bool is_leader = false;
    std::string leader_node_id;  // Empty while nobody leads.
    std::string leader_address;
    std::uint64_t epoch = 0;  // Rises with each change of leaders.
    std::string version;
    Time started_at{};
    std::chrono::seconds uptime{0};
    std::string store;  // What it is, without passwords.
    bool store_reachable = false;
    std::string trouble;  // Why the store cannot be used; empty while it can.
    std::vector<SchedulerNode> nodes;
};

}  // namespace takt
