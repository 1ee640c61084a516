// The text that Prometheus reads.
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <map>

#include "metrics/meters.h"
#include "metrics/meters_state.h"
#include "metrics/metric_table.h"
#include "metrics/workers_wanted.h"
#include "trace/span_exporter.h"

namespace takt::internal {
namespace {

using prometheus::ClientMetric;
using Labels = std::vector<ClientMetric::Label>;

// Families by name; each is asked for by the name that the table has.
class Families {
  public:
    // The values that follow are of this namespace; numbers of the process have no such label.
    void Begin(std::string space) { space_ = std::move(space); }
    void Counter(std::string_view name, double value, Labels labels = {}) {
        ClientMetric metric{.label = InSpace(name, std::move(labels))};
        metric.counter.value = value;
        Of(name).metric.push_back(std::move(metric));
    }
    void Gauge(std::string_view name, double value, Labels labels = {}) {
        ClientMetric metric{.label = InSpace(name, std::move(labels))};
        metric.gauge.value = value;
        Of(name).metric.push_back(std::move(metric));
    }
    void Histogram(std::string_view name, const MeterHistogram& from, Labels labels = {}) {
        ClientMetric metric{.label = InSpace(name, std::move(labels))};
        std::uint64_t cumulative = 0;
        for (std::size_t i = 0; i < from.counts().size(); ++i) {
            cumulative += from.counts()[i];
            const double bound = i < from.bounds().size() ? from.bounds()[i] : INFINITY;
            metric.histogram.bucket.push_back({cumulative, bound});
        }
        metric.histogram.sample_count = cumulative;
        metric.histogram.sample_sum = from.sum();
        Of(name).metric.push_back(std::move(metric));
    }

    // In the order of the table; those that have no value now are there with their help.
    std::vector<prometheus::MetricFamily> Take() {
        std::vector<prometheus::MetricFamily> all;
        for (const MetricDescription& known : MetricTable())
            all.push_back(std::move(Of(known.name)));
        return all;
    }

  private:
    Labels InSpace(std::string_view name, Labels labels) const {
        if (DescribeMetric(name).labels.starts_with("namespace")) {
            labels.insert(labels.begin(), {"namespace", space_});
        }
        return labels;
    }
    prometheus::MetricFamily& Of(std::string_view name) {
        auto& family = families_[name];
        if (family.name.empty()) {
            const MetricDescription& known = DescribeMetric(name);
            family.name = known.name;
            family.help = known.help;
            family.type = known.type == MetricType::kCounter ? prometheus::MetricType::Counter
                          : known.type == MetricType::kGauge ? prometheus::MetricType::Gauge
                                                             : prometheus::MetricType::Histogram;
        }
        return family;
    }
    std::map<std::string_view, prometheus::MetricFamily> families_;
    std::string space_;
};

void AddView(Families& to, const MetricsView& view) {
    const auto status = [&](std::string_view name, std::uint64_t count) {
        to.Gauge("tasks", double(count), {{"status", std::string(name)}});
    };
    status("pending", view.tasks_pending);
    status("scheduled", view.tasks_scheduled);
    status("running", view.tasks_running);
    status("retrying", view.tasks_retrying);
    to.Gauge("tasks_pending", double(view.tasks_pending + view.tasks_retrying));
    to.Gauge("tasks_running", double(view.tasks_scheduled + view.tasks_running));
    for (std::size_t i = 0; i < view.ready.size(); ++i) {
        to.Gauge("tasks_ready", double(view.ready[i]), {{"priority", std::to_string(i)}});
    }
    for (const QueueNumbers& queue : view.queues) {
        const Labels labels = {{"queue", queue.name.str()}};
        to.Gauge("takt_queue_waiting", double(queue.waiting), labels);
        to.Gauge("takt_queue_working", double(queue.working), labels);
        to.Gauge("takt_queue_oldest_wait_seconds", queue.oldest_wait_seconds, labels);
    }
    to.Gauge("takt_clock_jump_seconds", view.clock_jump_seconds);
    to.Gauge("takt_locks_held", double(view.locks_held));
    to.Gauge("takt_locks_waiting", double(view.locks_waiting));
    to.Gauge("workers_online", double(view.workers_online));
    to.Gauge("workers_draining", double(view.workers_draining));
    to.Gauge("workers_offline", double(view.workers_offline));
    to.Gauge("worker_utilization", view.worker_utilization);
    for (const WorkerNumbers& worker : view.workers) {
        const Labels labels = {{"worker", worker.id.str()}};
        to.Gauge("worker_tasks_running", double(worker.running), labels);
        to.Gauge("worker_capacity", double(worker.capacity), labels);
        to.Gauge("worker_cpu_ratio", worker.cpu, labels);
        to.Gauge("worker_memory_ratio", worker.memory, labels);
        to.Gauge("worker_heartbeat_delay_seconds", worker.heartbeat_delay_seconds, labels);
    }
}

void AddNode(Families& to, const NodeStatus& status) {
    to.Gauge("scheduler_is_leader", status.role == Role::kLeader ? 1 : 0);
    to.Counter("scheduler_elections_total", double(status.elections));
    to.Gauge("takt_epoch", double(status.epoch));
    to.Gauge("takt_store_trouble", status.trouble.empty() ? 0 : 1);
}

void AddExtras(Families& to, const MeterExtras& extras) {
    to.Gauge("takt_event_watchers", double(extras.event_watchers));
    for (const auto& [state, severity, count] : extras.alerts) {
        to.Gauge("takt_alerts", double(count), {{"state", state}, {"severity", severity}});
    }
    for (const auto& [channel, told, failed] : extras.channels) {
        to.Counter("takt_alert_deliveries_total", double(told),
                   {{"channel", channel}, {"result", "ok"}});
        to.Counter("takt_alert_deliveries_total", double(failed),
                   {{"channel", channel}, {"result", "failed"}});
    }
}

void AddProcess(Families& to, const NodeStatus& status, Time now) {
    const auto seconds = [](Duration duration) {
        return std::chrono::duration<double>(duration).count();
    };
    to.Gauge("takt_uptime_seconds", seconds(now - status.started_at));
    to.Gauge("process_start_time_seconds", seconds(status.started_at.time_since_epoch()));
    rusage usage{};
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        const auto spent = [](const timeval& time) {
            return double(time.tv_sec) + double(time.tv_usec) / 1e6;
        };
        to.Counter("process_cpu_seconds_total", spent(usage.ru_utime) + spent(usage.ru_stime));
    }
    if (std::FILE* file = std::fopen("/proc/self/statm", "re")) {
        long long total = 0;
        long long resident = 0;
        const int read = std::fscanf(file, "%lld %lld", &total, &resident);
        std::fclose(file);
        if (read == 2) {
            to.Gauge("process_resident_memory_bytes",
                     double(resident) * double(sysconf(_SC_PAGESIZE)));
        }
    }
    std::error_code error;
    const std::filesystem::directory_iterator files("/proc/self/fd", error);
    if (!error) {
        to.Gauge("process_open_fds", double(std::distance(begin(files), end(files))));
    }
}

template <typename State>
void AddCounts(Families& to, const State& from) {
    to.Counter("tasks_submitted_total", double(from.submitted));
    to.Counter("tasks_completed_total", double(from.completed));
    to.Counter("tasks_failed_total", double(from.failed));
    to.Counter("tasks_cancelled_total", double(from.cancelled));
    to.Counter("tasks_retried_total", double(from.retried));
    to.Counter("tasks_skipped_total", double(from.skipped));
    to.Counter("tasks_fired_total", double(from.fired));
    to.Counter("tasks_missed_total", double(from.missed));
    to.Counter("task_dispatches_total", double(from.dispatched));
    to.Counter("task_dispatches_lost_total", double(from.lost));
    to.Counter("takt_reports_stale_total", double(from.stale));
    to.Counter("takt_locks_acquired_total", double(from.locks_acquired));
    to.Counter("takt_locks_lost_total", double(from.locks_lost));
    to.Histogram("takt_lock_wait_seconds", from.lock_wait);
    to.Histogram("task_scheduling_delay_seconds", from.delay);
    to.Histogram("takt_store_commit_duration_seconds", from.commit);
    to.Histogram("takt_store_commit_changes", from.changes);
}

template <typename State>
void AddBreakdown(Families& to, State& from, Steady now) {
    for (const auto& [queue, meter] : from.queues.values()) {
        to.Histogram("task_queue_wait_seconds", meter->wait, {{"queue", queue.str()}});
        for (const auto& [status, count] :
             {std::pair("success", meter->succeeded), std::pair("failed", meter->failed),
              std::pair("cancelled", meter->cancelled)}) {
            to.Counter("takt_queue_finished_total", double(count),
                       {{"queue", queue.str()}, {"status", status}});
        }
    }
    for (const auto& [type, meter] : from.types.values()) {
        to.Histogram("task_execution_duration_seconds", meter->duration, {{"type", type.str()}});
        for (const auto& [name, quantile] :
             {std::pair("p50", 0.5), std::pair("p95", 0.95), std::pair("p99", 0.99)}) {
            const auto value = meter->recent.Quantile(quantile, now);
            if (!value) continue;
            to.Gauge("task_execution_duration_percentile_seconds", *value / 1e3,
                     {{"type", type.str()}, {"percentile", name}});
        }
    }
}

template <typename State>
void AddDemand(Families& to, const State& from, const MeterReading& reading) {
    for (const QueueNumbers& queue : reading.view.queues) {
        if (queue.name == kOtherKey) continue;  // Of many queues, each with workers of its own.
        QueueDemand demand{.ready = queue.ready,
                           .working = queue.working,
                           .working_max = queue.working_max,
                           .worker_capacity = queue.worker_capacity};
        if (const auto* meter = from.queues.Find(queue.name))
            demand.seconds_each = meter->ran.Mean();
        to.Gauge("takt_queue_workers_wanted",
                 double(WorkersWanted(demand, reading.meters->clear_within())),
                 {{"queue", queue.name.str()}});
    }
}

template <typename State>
void AddRates(Families& to, State& from, Steady now) {
    // Without anything to divide by there is no value, rather than a wrong one.
    const RateCounts rates = from.rates.Sum(now);
    const auto ratio = [&](std::string_view name, std::uint64_t part, std::uint64_t whole) {
        if (whole > 0) to.Gauge(name, double(part) / double(whole));
    };
    const std::uint64_t ended = rates.succeeded + rates.failed;
    ratio("task_success_rate", rates.succeeded, ended);
    ratio("task_failure_rate", rates.failed, ended);
    ratio("task_retry_rate", rates.retried, ended + rates.retried);
    ratio("task_dispatch_success_rate", rates.dispatched - std::min(rates.lost, rates.dispatched),
          rates.dispatched);
    to.Gauge("task_throughput", from.Throughput(now));
}

}  // namespace

std::string MetersText(const std::vector<MeterReading>& readings) {
    Families to;
    const Instant now = ReadClocks();
    AddProcess(to, readings.front().status, now.wall);
    to.Gauge("takt_store_bytes", double(readings.front().extras.store_bytes));
    to.Gauge("takt_store_bytes_max", double(readings.front().extras.store_bytes_max));
    const Meters::State& process = *readings.front().meters->state_;
    const SpanExporter* spans = process.exporter;
    to.Counter("takt_spans_exported_total", spans ? double(spans->exported()) : 0);
    to.Counter("takt_spans_dropped_total", spans ? double(spans->dropped()) : 0);
    for (const MeterReading& reading : readings) {
        Meters::State& from = *reading.meters->state_;
        to.Begin(reading.meters->space());
        AddNode(to, reading.status);
        for (std::size_t i = 1; i < from.by_class.size(); ++i) {
            to.Counter("takt_http_requests_total", double(from.by_class[i].load()),
                       {{"status", std::to_string(i) + "xx"}});
        }
        // Of two schedulers that told the same, a sum would be twice what there is.
        if (reading.status.role != Role::kLeader) continue;
        AddView(to, reading.view);
        AddExtras(to, reading.extras);
        const std::scoped_lock lock(from.mutex);
        AddCounts(to, from);
        AddBreakdown(to, from, now.steady);
        AddRates(to, from, now.steady);
        AddDemand(to, from, reading);
    }
    return prometheus::TextSerializer().Serialize(to.Take());
}

}  // namespace takt::internal
