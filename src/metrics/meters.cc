#include "metrics/meters.h"

#include "metrics/meters_state.h"
#include "model/run_progress.h"

namespace takt::internal {
namespace {

double SecondsIn(Duration duration) {
    return std::max(std::chrono::duration<double>(duration).count(), 0.0);
}

double Ratio(std::uint64_t part, std::uint64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

Meters::Meters(MetersConfig config)
    : config_(config), state_(std::make_unique<State>(config.interval)) {}
Meters::~Meters() = default;

void Meters::OnCommit(const Committed& committed) {
    State& to = *state_;
    const Instant now = ReadClocks();
    const std::scoped_lock lock(to.mutex);
    to.commit.Observe(std::chrono::duration<double>(committed.took).count());
    to.recent_commit.Add(Duration(committed.took.count()), now.steady);
    to.changes.Observe(static_cast<double>(committed.changes.size()));
    const auto queue_of = [&](const Execution& row) -> QueueMeter& {
        return to.queues.At(row.task->queue, [] { return std::make_unique<QueueMeter>(); });
    };
    for (const Change& change : committed.changes) {
        const auto* execution = std::get_if<ExecutionChange>(&change);
        if (!execution) continue;
        const Execution& row = execution->row;
        const bool ended = execution->after == Place::kHistory;
        // A fire that was skipped, or an execution that lapsed, is no work.
        if (ended && row.status != Status::kSkipped) {
            queue_of(row).CountEnd(row.status);
            to.queue_rates.Count(row.task->queue, now.steady);
        }
        // Attempts that are to be repeated come with the effects: by now the row may be the next one's.
        if (row.started_at == Time{} || !ended) continue;
        if (row.task->workflow()) continue;  // A run has no type; its steps have.
        const Duration ran = row.finished_at - row.started_at;
        to.CountRan(row.task->type, ran, now.steady);
        QueueMeter& queue = queue_of(row);
        queue.wait.Observe(SecondsIn(row.started_at - row.ready_at));
        queue.ran.Add(SecondsIn(ran), now.steady);
    }
}

void Meters::Release(const Effects& effects) {
    if (effects.events.empty() && effects.assigns.empty() && effects.verdicts.empty()) return;
    State& to = *state_;
    const Instant now = ReadClocks();
    const std::scoped_lock lock(to.mutex);
    RateCounts& rates = to.rates.Now(now.steady);
    for (const Event& event : effects.events) {
        switch (event.type) {
            case EventType::kTaskSubmitted:
                ++to.submitted;
                break;
            case EventType::kTaskCompleted:
                ++to.completed;
                // A run and its steps are not both counted in one rate.
                rates.succeeded += IsChildId(event.execution.view()) ? 0 : 1;
                ++to.completions.Now(now.steady);
                break;
            case EventType::kTaskFailed:
                ++to.failed;
                rates.failed += IsChildId(event.execution.view()) ? 0 : 1;
                break;
            case EventType::kTaskRetrying:
                ++to.retried;
                ++rates.retried;
                break;
            case EventType::kTaskCancelled:
                ++to.cancelled;
                break;
            case EventType::kTaskSkipped:
                ++to.skipped;
                break;
            case EventType::kLockAcquired:
                ++to.locks_acquired;
                break;
            case EventType::kLockLost:
                ++to.locks_lost;
                break;
            default:
                break;
        }
    }
    for (const Assign& assign : effects.assigns) {
        const Duration delay = now.wall - assign.execution.ready_at;
        to.delay.Observe(SecondsIn(delay));
        to.recent_delay.Add(delay, now.steady);
    }
    for (const FailedAttempt& failed : effects.failed) {
        to.CountRan(failed.type, failed.ran, now.steady);
    }
    for (const Verdict& verdict : effects.verdicts) to.stale += !verdict.accepted;
    for (const Duration waited : effects.lock_waits) to.lock_wait.Observe(SecondsIn(waited));
}

void Meters::OnRole(Role) {
    // Another term, another engine: it counts from nothing.
    const std::scoped_lock lock(state_->mutex);
    state_->seen = {};
}

void Meters::Sample(const Engine& engine, Steady now) {
    State& to = *state_;
    const EngineCounters counters = engine.counters();
    const std::scoped_lock lock(to.mutex);
    const EngineCounters seen = std::exchange(to.seen, counters);
    to.fired += counters.fired - seen.fired;
    to.missed += counters.missed - seen.missed;
    to.dispatched += counters.assigned - seen.assigned;
    to.lost += counters.lost - seen.lost;
    RateCounts& rates = to.rates.Now(now);
    rates.dispatched += counters.assigned - seen.assigned;
    rates.lost += counters.lost - seen.lost;
}

void Meters::Read(const Engine& engine, Instant now, AlertReadings& readings) {
    Sample(engine, now.steady);
    // Names are bounded for those who keep series of them, not for a rule that names one.
    const MetricsView view = ViewOf(&engine, now, kUnbounded);
    const auto add = [&](std::string_view metric, double value) {
        readings.push_back({.metric = metric, .value = value});
    };
    add("tasks_pending", static_cast<double>(view.tasks_pending + view.tasks_retrying));
    add("tasks_running", static_cast<double>(view.tasks_scheduled + view.tasks_running));
    add("clock_jump_seconds", view.clock_jump_seconds);
    add("workers_online", static_cast<double>(view.workers_online));
    add("workers_offline", static_cast<double>(view.workers_offline));
    if (view.capacity > 0) add("worker_utilization", view.worker_utilization);
    for (const QueueNumbers& queue : view.queues) {
        if (queue.oldest_wait_seconds <= 0) continue;
        readings.push_back({.metric = "queue_oldest_wait_seconds",
                            .value = queue.oldest_wait_seconds,
                            .subject = queue.name});
    }
    for (const WorkerNumbers& worker : view.workers) {
        readings.push_back({.metric = "worker_heartbeat_delay_seconds",
                            .value = worker.heartbeat_delay_seconds,
                            .subject = worker.id});
    }
    State& from = *state_;
    const std::scoped_lock lock(from.mutex);
    const RateCounts rates = from.rates.Sum(now.steady);
    const std::uint64_t ended = rates.succeeded + rates.failed;
    // A rate of nothing is no rate.
    if (ended > 0) add("task_failure_rate", Ratio(rates.failed, ended));
    if (ended + rates.retried > 0) {
        add("task_retry_rate", Ratio(rates.retried, ended + rates.retried));
    }
    if (rates.dispatched > 0) {
        add("task_dispatch_failure_rate", std::min(Ratio(rates.lost, rates.dispatched), 1.0));
    }
    add("tasks_failed", static_cast<double>(rates.failed));
    readings.push_back({.metric = "task_throughput",
                        .value = from.Throughput(now.steady),
                        .window = from.completions.length()});
    if (const auto delay = from.recent_delay.Quantile(0.99, now.steady)) {
        add("task_scheduling_delay_p99_seconds", *delay / 1e3);
    }
    if (const auto commit = from.recent_commit.Quantile(0.99, now.steady)) {
        add("store_commit_p99_seconds", *commit / 1e6);
    }
}

void Meters::CountRequest(int status) {
    const auto number = static_cast<std::size_t>(status / 100);
    if (number >= 1 && number <= 5) {
        state_->by_class[number].fetch_add(1, std::memory_order_relaxed);
    }
}

double Meters::throughput() const {
    const std::scoped_lock lock(state_->mutex);
    return state_->Throughput(SteadyClock::now());
}

std::optional<double> Meters::throughput(const internal::Text& queue) const {
    const std::scoped_lock lock(state_->mutex);
    return state_->queue_rates.Of(queue, SteadyClock::now());
}

void Meters::WatchSpans(const SpanExporter& exporter) {
    state_->exporter = &exporter;
}

}  // namespace takt::internal
