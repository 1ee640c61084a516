#include "alerts/metric.h"

#include <array>

namespace takt::internal {
namespace {

constexpr std::array<AlertMetric, 18> kMetrics = {{
    {"task_failure_rate", "ratio",
     "Of the executions that ended in the last five minutes, the part that failed for good.",
     AlertSubject::kAll, kAlertWindow},
    {"task_retry_rate", "ratio",
     "Of the attempts that ended in the last five minutes, the part that is repeated.",
     AlertSubject::kAll, kAlertWindow},
    {"task_dispatch_failure_rate", "ratio",
     "Of the attempts sent out in the last five minutes, the part lost with its worker.",
     AlertSubject::kAll, kAlertWindow},
    {"tasks_failed", "executions", "Executions that failed for good in the last five minutes.",
     AlertSubject::kAll, kAlertWindow},
    {"tasks_pending", "executions", "Executions that wait, retries included."},
    {"tasks_running", "executions", "Executions that workers have in hand."},
    {"task_throughput", "per second", "Executions that succeed."},
    {"task_scheduling_delay_p99_seconds", "seconds",
     "Between being ready and being sent to a worker; 99 of 100 in the last minutes are below.",
     AlertSubject::kAll, kAlertWindow},
    {"queue_oldest_wait_seconds", "seconds",
     "How long the oldest execution that could start has waited, by queue.", AlertSubject::kQueue},
    {kLatenessMetric, "seconds",
     "How late the last due run of a recurring task is or began, or how long ago it was missed; "
     "also judged by a follower when nobody leads.",
     AlertSubject::kTask},
    {kFailedRunsMetric, "executions",
     "Runs of a recurring task that failed for good in the last five minutes, by task.",
     AlertSubject::kTask, kAlertWindow},
    {"workers_online", "workers", "Workers that are there."},
    {"workers_offline", "workers", "Workers that are not heard of and not yet forgotten."},
    {"worker_utilization", "ratio", "Part of the capacity of the workers online that is in use."},
    {"worker_heartbeat_delay_seconds", "seconds",
     "Time since the last sign of life, by worker that is online.", AlertSubject::kWorker},
    {"store_commit_p99_seconds", "seconds",
     "How long the store takes for a commit; 99 of 100 in the last minutes are below.",
     AlertSubject::kAll, kAlertWindow},
    {kStoreUsedMetric, "ratio",
     "Part of what the store may hold that is in use: of etcd's quota, of Redis' maxmemory, of the "
     "disk. Of the namespace default alone, since the store is one for all; none if it has no "
     "bound."},
    {"clock_jump_seconds", "seconds",
     "By how much the leader's wall clock was set in the last hour, forward or back; 0 if it was "
     "not, or by less than a minute."},
}};

}  // namespace

std::span<const AlertMetric> AlertMetrics() {
    return kMetrics;
}

const AlertMetric* FindAlertMetric(std::string_view name) {
    for (const AlertMetric& metric : kMetrics) {
        if (metric.name == name) return &metric;
    }
    return nullptr;
}

}  // namespace takt::internal
