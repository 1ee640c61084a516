#include "metrics/metric_table.h"

#include <array>

#include "base/check.h"

namespace takt::internal {
namespace {

using enum MetricType;

constexpr MetricDescription kTable[] = {
    // Events.
    {"tasks_submitted_total", kCounter, "namespace", "Executions accepted, fires included."},
    {"tasks_completed_total", kCounter, "namespace", "Executions that succeeded."},
    {"tasks_failed_total", kCounter, "namespace", "Executions that failed for good."},
    {"tasks_cancelled_total", kCounter, "namespace", "Executions that were cancelled."},
    {"tasks_retried_total", kCounter, "namespace", "Attempts that failed and are repeated."},
    {"tasks_skipped_total", kCounter, "namespace",
     "Fires that were dropped, and ranges that were missed."},
    {"tasks_fired_total", kCounter, "namespace",
     "Due times of recurring tasks that became executions."},
    {"tasks_missed_total", kCounter, "namespace", "Due times that the misfire policy dropped."},
    {"task_dispatches_total", kCounter, "namespace", "Attempts sent to workers."},
    {"task_dispatches_lost_total", kCounter, "namespace", "Attempts lost with their worker."},
    {"takt_reports_stale_total", kCounter, "namespace", "Reports refused as stale."},
    {"takt_queue_finished_total", kCounter, "namespace,queue,status",
     "Executions that ended, by queue and how; its rate is the queue's throughput."},
    // How it is now.
    {"tasks", kGauge, "namespace,status", "Executions that are not finished, by status."},
    {"tasks_pending", kGauge, "namespace", "Executions that wait, retries included."},
    {"tasks_running", kGauge, "namespace", "Executions that workers have in hand."},
    {"tasks_ready", kGauge, "namespace,priority", "Executions that could start now, by priority."},
    {"takt_queue_waiting", kGauge, "namespace,queue", "Executions that wait, by queue."},
    {"takt_queue_working", kGauge, "namespace,queue",
     "Executions that workers have in hand, by queue."},
    {"takt_queue_oldest_wait_seconds", kGauge, "namespace,queue",
     "How long the oldest execution that could start has waited."},
    {"takt_queue_workers_wanted", kGauge, "namespace,queue",
     "How many workers would clear what waits within metrics.clear_within; for autoscalers."},
    // How long and how well.
    {"task_scheduling_delay_seconds", kHistogram, "namespace",
     "Between being ready and being sent to a worker."},
    {"task_queue_wait_seconds", kHistogram, "namespace,queue",
     "Between being ready and being begun."},
    {"task_execution_duration_seconds", kHistogram, "namespace,type", "How long attempts ran."},
    {"task_execution_duration_percentile_seconds", kGauge, "namespace,type,percentile",
     "How long the attempts of the last minutes ran: p50, p95, p99 (off by at most 3.2 %)."},
    {"task_success_rate", kGauge, "namespace",
     "Of the executions that ended in the last five minutes, the part that succeeded."},
    {"task_failure_rate", kGauge, "namespace",
     "Of the executions that ended in the last five minutes, the part that failed for good."},
    {"task_retry_rate", kGauge, "namespace",
     "Of the attempts that ended in the last five minutes, the part that is repeated."},
    {"task_dispatch_success_rate", kGauge, "namespace",
     "Of the attempts sent out in the last five minutes, the part not lost with its worker."},
    {"task_throughput", kGauge, "namespace",
     "Executions completed per second, over metrics.interval."},
    // Locks.
    {"takt_locks_held", kGauge, "namespace",
     "Holdings of locks: what one acquire gave to somebody."},
    {"takt_locks_waiting", kGauge, "namespace",
     "Clients, handlers and executions that wait for locks."},
    {"takt_locks_acquired_total", kCounter, "namespace", "Times that somebody was given a lock."},
    {"takt_locks_lost_total", kCounter, "namespace",
     "Times that a lock was lost: its lease was over, or an operator took it away."},
    {"takt_lock_wait_seconds", kHistogram, "namespace",
     "How long those stood in line who were given locks."},
    // Workers.
    {"workers_online", kGauge, "namespace", "Workers that are there."},
    {"workers_draining", kGauge, "namespace",
     "Of the workers that are there: get nothing new, for a drain or maintenance."},
    {"workers_offline", kGauge, "namespace", "Workers that are not heard of."},
    {"worker_utilization", kGauge, "namespace", "Part of the workers' capacity in use, 0 to 1."},
    {"worker_tasks_running", kGauge, "namespace,worker", "Executions that a worker has in hand."},
    {"worker_capacity", kGauge, "namespace,worker", "Executions that a worker takes at once."},
    {"worker_cpu_ratio", kGauge, "namespace,worker", "Of all cores of its machine, as it says."},
    {"worker_memory_ratio", kGauge, "namespace,worker",
     "Of the memory of its machine, as it says."},
    {"worker_heartbeat_delay_seconds", kGauge, "namespace,worker",
     "Time since its last sign of life."},
    // The scheduler.
    {"scheduler_is_leader", kGauge, "namespace", "1 on the node that leads."},
    {"scheduler_elections_total", kCounter, "namespace", "Times this node was elected."},
    {"takt_epoch", kGauge, "namespace", "Of the term in which this node leads; 0 if it does not."},
    {"takt_uptime_seconds", kGauge, "", "Since this scheduler started."},
    {"takt_clock_jump_seconds", kGauge, "namespace",
     "By how much the leader's wall clock was set in the last hour; 0 if it was not."},
    {"takt_store_commit_duration_seconds", kHistogram, "namespace",
     "From sending a batch to the store to its answer, repetitions included."},
    {"takt_store_commit_changes", kHistogram, "namespace", "Rows that a batch changes."},
    {"takt_store_trouble", kGauge, "namespace", "1 while the store cannot be written to."},
    {"takt_store_bytes", kGauge, "",
     "What is stored, as the store counts: etcd's space in use, Redis' memory (of a cluster that "
     "of "
     "the shard of the namespace default), the files; 0 if it does not tell."},
    {"takt_store_bytes_max", kGauge, "",
     "What may be stored: etcd's quota, maxmemory (of the same shard), the disk; 0 if there is no "
     "bound or it is not known."},
    {"takt_http_requests_total", kCounter, "namespace,status", "Requests by class of status."},
    {"takt_spans_exported_total", kCounter, "", "Spans that the collector of traces took."},
    {"takt_spans_dropped_total", kCounter, "",
     "Spans dropped: too many at once, or the collector was away."},
    {"takt_event_watchers", kGauge, "namespace", "Streams of events that are open."},
    {"takt_alerts", kGauge, "namespace,state,severity", "Alerts that are pending or firing."},
    {"takt_alert_deliveries_total", kCounter, "namespace,channel,result",
     "Alerts that a channel was told, or could not be told."},
    {"process_cpu_seconds_total", kCounter, "", "CPU time of this process."},
    {"process_resident_memory_bytes", kGauge, "", "Memory of this process."},
    {"process_open_fds", kGauge, "", "Open files and sockets of this process."},
    {"process_start_time_seconds", kGauge, "", "When this process started, since 1970."},
};

constexpr std::string_view kIntroduction = R"(# Metrics

`GET /metrics` answers in the text format of Prometheus; each scheduler answers for itself. What
concerns tasks and workers of a namespace is told by the scheduler that leads it alone (`scheduler_is_leader` 1), under the
label `namespace`, so that sums over schedulers are right. `GET /api/v1/metrics` gives the
most important ones of the whole cluster as JSON.

Counters are of the process and begin at 0 with it. What counts is what is committed: an execution that
a crash took back was never there. Label values that come from users are bounded: the first 50 types and
queues and 100 workers have a value of their own, the rest share `(other)`.

    scrape_configs:
      - job_name: takt
        authorization: {credentials_file: /etc/prometheus/takt-token}   # a token with the role viewer
        static_configs: [{targets: ["10.0.0.5:8080", "10.0.0.6:8080", "10.0.0.7:8080"]}]

`metrics.enabled: false` switches it off. A worker tells numbers of its own at its `worker.health_listen`: see
[operating](operating.md#watch).

| name | type | labels | |
|---|---|---|---|
)";

constexpr std::string_view kTypes[] = {"counter", "gauge", "histogram"};

}  // namespace

std::span<const MetricDescription> MetricTable() {
    return kTable;
}

const MetricDescription& DescribeMetric(std::string_view name) {
    for (const MetricDescription& metric : kTable) {
        if (metric.name == name) return metric;
    }
    TAKT_CHECK(!"a metric is not in the table");
    return kTable[0];
}

std::string MetricsPage() {
    std::string page(kIntroduction);
    for (const MetricDescription& metric : kTable) {
        page += "| `" + std::string(metric.name) + "` | " +
                std::string(kTypes[static_cast<std::size_t>(metric.type)]) + " | " +
                std::string(metric.labels) + " | " + std::string(metric.help) + " |\n";
    }
    page +=
        "\nThis page is made from the code: `TAKT_WRITE_PAGES=1 ./build/metrics_test "
        "--gtest_filter='Meters.*'` writes it.\n";
    return page;
}

}  // namespace takt::internal
