#include "metrics/metrics_view.h"

#include <algorithm>
#include <map>

#include "statistics/table.h"

namespace takt::internal {
namespace {

// The capacity of workers by the queues that they serve.
class QueueWorkers {
  public:
    explicit QueueWorkers(const Engine& engine) {
        for (const WorkerView& worker : engine.Workers()) {
            if (worker.row.status != WorkerStatus::kOnline || worker.load.draining) continue;
            if (worker.row.queues.empty()) everywhere_.Add(worker.row.capacity);
            for (const Text& queue : worker.row.queues) by_queue_[queue].Add(worker.row.capacity);
        }
    }

    // 0 if none serves it.
    double MeanCapacity(const Text& queue) const {
        Sum sum = everywhere_;
        if (const auto own = by_queue_.find(queue); own != by_queue_.end()) {
            sum.capacity += own->second.capacity;
            sum.workers += own->second.workers;
        }
        return sum.workers == 0 ? 0 : sum.capacity / sum.workers;
    }

  private:
    struct Sum {
        double capacity = 0;
        double workers = 0;

        void Add(std::uint32_t of_worker) {
            capacity += of_worker;
            ++workers;
        }
    };

    Sum everywhere_;
    std::map<Text, Sum> by_queue_;
};

void AddQueues(const Engine& engine, Time now, std::size_t count_max, MetricsView& view) {
    const QueueWorkers workers(engine);
    for (const QueueView& queue : engine.Queues()) {
        QueueNumbers numbers{.name = queue.name,
                             .waiting = queue.waiting,
                             .working = queue.working,
                             .working_max = queue.limits.working_max,
                             .worker_capacity = workers.MeanCapacity(queue.name)};
        for (std::size_t priority = 0; priority < queue.ready.size(); ++priority) {
            if (queue.limits.paused) break;
            view.ready[priority] += queue.ready[priority];
            numbers.ready += queue.ready[priority];
        }
        if (queue.oldest_ready != Time{}) {
            const Duration wait = std::max(now - queue.oldest_ready, Duration(0));
            numbers.oldest_wait_seconds = std::chrono::duration<double>(wait).count();
        }
        if (view.queues.size() < count_max) {
            view.queues.push_back(std::move(numbers));
            continue;
        }
        if (view.queues.size() == count_max) view.queues.push_back({Text(kOtherKey)});
        QueueNumbers& other = view.queues.back();
        other.waiting += numbers.waiting;
        other.working += numbers.working;
        other.oldest_wait_seconds =
            std::max(other.oldest_wait_seconds, numbers.oldest_wait_seconds);
    }
}

void AddWorker(const WorkerView& worker, Time now, std::size_t count_max, MetricsView& view) {
    // One that a new leader has not heard of yet is not late before its lease is over.
    const Time seen = worker.row.seen_at == Time{} ? now : worker.row.seen_at;
    const Duration silent = std::max(now - seen, Duration(0));
    WorkerNumbers numbers{.id = worker.row.id.text(),
                          .running = worker.busy,
                          .capacity = worker.row.capacity,
                          .cpu = worker.load.cpu,
                          .memory = worker.load.memory,
                          .heartbeat_delay_seconds = std::chrono::duration<double>(silent).count()};
    if (view.workers.size() < count_max) {
        view.workers.push_back(std::move(numbers));
        return;
    }
    if (view.workers.size() == count_max) view.workers.push_back({.id = Text(kOtherKey)});
    WorkerNumbers& other = view.workers.back();
    other.running += numbers.running;
    other.capacity += numbers.capacity;
    other.cpu = std::max(other.cpu, numbers.cpu);
    other.memory = std::max(other.memory, numbers.memory);
    other.heartbeat_delay_seconds =
        std::max(other.heartbeat_delay_seconds, numbers.heartbeat_delay_seconds);
}

}  // namespace

MetricsView ViewOf(const Engine* engine, Instant now, const ViewBounds& bounds) {
    MetricsView view;
    if (!engine) return view;
    const EngineCounters& counters = engine->counters();
    view.tasks_pending = engine->count(Status::kPending);
    view.tasks_scheduled = engine->count(Status::kScheduled);
    view.tasks_running = engine->count(Status::kRunning);
    view.tasks_retrying = engine->count(Status::kRetrying);
    view.tasks_completed = counters.succeeded;
    view.tasks_failed = counters.failed;
    view.tasks_cancelled = counters.cancelled;
    view.tasks_total =
        engine->live_count() + counters.succeeded + counters.failed + counters.cancelled;
    const auto jump = engine->clock().last_jump(now.steady).value_or(Duration(0));
    view.clock_jump_seconds = std::chrono::duration<double>(std::chrono::abs(jump)).count();
    const LockCounts locks = engine->lock_counts();
    view.locks_held = locks.held;
    view.locks_waiting = locks.waiting;
    AddQueues(*engine, now.wall, bounds.queues, view);
    for (const WorkerView& worker : engine->Workers()) {
        const bool online = worker.row.status != WorkerStatus::kOffline;
        ++(online ? view.workers_online : view.workers_offline);
        if (!online) continue;
        if (worker.row.status != WorkerStatus::kOnline) ++view.workers_draining;
        view.capacity += worker.row.capacity;
        view.busy += worker.busy;
        AddWorker(worker, now.wall, bounds.workers, view);
    }
    if (view.capacity > 0) {
        view.worker_utilization =
            static_cast<double>(view.busy) / static_cast<double>(view.capacity);
    }
    return view;
}

}  // namespace takt::internal
