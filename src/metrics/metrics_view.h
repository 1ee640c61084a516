// MetricsView: the numbers that are read from the engine when somebody asks.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "engine/engine.h"

namespace takt::internal {

// Label values per metric. Names come from users; what is beyond is one value "(other)".
constexpr std::size_t kLabelsMax = 50;
constexpr std::size_t kWorkersShownMax = 100;

struct QueueNumbers {
    Text name;
    std::uint64_t waiting = 0;
    std::uint64_t working = 0;
    double oldest_wait_seconds = 0;
    std::uint64_t ready = 0;        // Could start now; 0 while the queue is paused.
    std::uint64_t working_max = 0;  // Its limit; 0: it has none.
    double worker_capacity = 0;     // Of the workers that serve it, on average.
};

struct WorkerNumbers {
    Text id;
    std::uint64_t running = 0;
    std::uint64_t capacity = 0;
    double cpu = 0;
    double memory = 0;
    double heartbeat_delay_seconds = 0;
};

// How many queues and workers have numbers of their own in a view; the rest share "(other)".
struct ViewBounds {
    std::size_t queues = kLabelsMax;
    std::size_t workers = kWorkersShownMax;
};

// For whoever looks for one of them by name.
constexpr ViewBounds kUnbounded{.queues = std::numeric_limits<std::size_t>::max(),
                                .workers = std::numeric_limits<std::size_t>::max()};

// The numbers of GET /api/v1/metrics and /metrics. All zeros without an engine.
struct MetricsView {
    std::uint64_t tasks_total = 0;  // Live ones and those that finished under this leader.
    std::uint64_t tasks_pending = 0;
    std::uint64_t tasks_scheduled = 0;
    std::uint64_t tasks_running = 0;
    std::uint64_t tasks_retrying = 0;
    std::uint64_t tasks_completed = 0;
    std::uint64_t tasks_failed = 0;
    std::uint64_t tasks_cancelled = 0;
    std::uint64_t workers_online = 0;
    std::uint64_t workers_draining = 0;  // Of those online: get nothing new.
    std::uint64_t workers_offline = 0;
    std::uint64_t capacity = 0;       // Of the workers that are online.
    std::uint64_t busy = 0;           // Of it, in use.
    double worker_utilization = 0;    // busy / capacity, 0 to 1.
    std::uint64_t locks_held = 0;     // By clients and attempts.
    std::uint64_t locks_waiting = 0;  // Who stand in line for locks.
    double clock_jump_seconds = 0;    // By which the wall clock was set in the last hour.
    std::array<std::uint64_t, kPriorityMax + 1> ready{};  // Could start now, by priority.
    std::vector<QueueNumbers> queues;    // By name, within the bounds; then "(other)".
    std::vector<WorkerNumbers> workers;  // Those online, likewise.
};

// On the node's thread.
MetricsView ViewOf(const Engine* engine, Instant now, const ViewBounds& bounds = {});

}  // namespace takt::internal
