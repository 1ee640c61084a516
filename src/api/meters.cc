#include "api/meters.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <mutex>

namespace takt::internal {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;

constexpr std::int64_t kWindowSeconds = 60;
// Attempts whose begin is remembered until their end. Workers rarely hold this many together; the
// duration of what is beyond is not measured.
constexpr std::size_t kBegunMax = 200'000;

const Histogram::BucketBoundaries kDurationBuckets = {0.001, 0.005, 0.01, 0.05, 0.1, 0.5,  1,
                                                      5,     10,    30,   60,   300, 1800, 3600};

// Completions in each of the last seconds.
class Window {
  public:
    void Add(std::int64_t second) {
        Forward(second);
        ++counts_[static_cast<std::size_t>(second % kWindowSeconds)];
    }
    double Rate(std::int64_t second) {
        Forward(second);
        std::uint64_t sum = 0;
        for (const std::uint64_t count : counts_) sum += count;
        return static_cast<double>(sum) / kWindowSeconds;
    }

  private:
    void Forward(std::int64_t second) {
        const std::int64_t steps = std::min(second - second_, kWindowSeconds);
        for (std::int64_t i = 1; i <= steps; ++i) {
            counts_[static_cast<std::size_t>((second_ + i) % kWindowSeconds)] = 0;
        }
        if (steps > 0) second_ = second;
    }

    std::array<std::uint64_t, kWindowSeconds> counts_{};
    std::int64_t second_ = 0;
};

std::int64_t NowSecond() {
    return std::chrono::duration_cast<std::chrono::seconds>(SteadyClock::now().time_since_epoch())
        .count();
}

}  // namespace

struct Meters::Families {
    prometheus::Registry registry;

    Counter& MakeCounter(const char* name, const char* help) {
        return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
    }
    Gauge& MakeGauge(const char* name, const char* help) {
        return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
    }

    Counter& submitted = MakeCounter("tasks_submitted_total", "Executions accepted.");
    Counter& completed = MakeCounter("tasks_completed_total", "Executions that succeeded.");
    Counter& failed = MakeCounter("tasks_failed_total", "Executions that failed for good.");
    Counter& cancelled = MakeCounter("tasks_cancelled_total", "Executions that were cancelled.");
    Counter& retried = MakeCounter("tasks_retried_total", "Attempts that failed and are repeated.");
    Counter& skipped = MakeCounter("tasks_skipped_total", "Fires that were dropped.");
    Counter& stale = MakeCounter("takt_reports_stale_total", "Reports refused as stale.");
    Gauge& pending = MakeGauge("tasks_pending", "Executions that wait.");
    Gauge& running = MakeGauge("tasks_running", "Executions that workers have in hand.");
    Gauge& online = MakeGauge("workers_online", "Workers that are there.");
    Gauge& offline = MakeGauge("workers_offline", "Workers that are not heard of.");
    Gauge& leader = MakeGauge("scheduler_is_leader", "1 on the node that leads.");
    Gauge& utilization =
        MakeGauge("worker_utilization", "Part of the workers' capacity in use, 0 to 1.");
    Gauge& throughput = MakeGauge("task_throughput", "Completed per second, over a minute.");
    Gauge& uptime = MakeGauge("takt_uptime_seconds", "Since this scheduler started.");
    Gauge& epoch = MakeGauge("takt_epoch", "Of the term in which this node leads.");
    Gauge& commits = MakeGauge("takt_commits", "Batches committed in this term.");
    Gauge& changes = MakeGauge("takt_changes", "Changes committed in this term.");
    Gauge& elections = MakeGauge("takt_elections", "Times this node was elected.");
    Histogram& duration = prometheus::BuildHistogram()
                              .Name("task_execution_duration_seconds")
                              .Help("How long attempts ran.")
                              .Register(registry)
                              .Add({}, kDurationBuckets);
    prometheus::Family<Counter>& requests = prometheus::BuildCounter()
                                                .Name("takt_http_requests_total")
                                                .Help("Requests by class of status.")
                                                .Register(registry);
    std::array<Counter*, 6> by_class = {nullptr,
                                        &requests.Add({{"status", "1xx"}}),
                                        &requests.Add({{"status", "2xx"}}),
                                        &requests.Add({{"status", "3xx"}}),
                                        &requests.Add({{"status", "4xx"}}),
                                        &requests.Add({{"status", "5xx"}})};

    // The node's thread only.
    boost::unordered_flat_map<internal::Text, Time, TextHash, TextEqual> begun;

    mutable std::mutex mutex;
    Window window;

    void Begin(const Event& event) {
        if (begun.size() < kBegunMax) begun[event.execution.text()] = event.at;
    }
    void End(const Event& event) {
        const auto found = begun.find(event.execution.text());
        if (found == begun.end()) return;
        duration.Observe(std::chrono::duration<double>(event.at - found->second).count());
        begun.erase(found);
    }
    void Count(const Event& event);
};

void Meters::Families::Count(const Event& event) {
    switch (event.type) {
        case EventType::kTaskSubmitted:
            return submitted.Increment();
        case EventType::kTaskScheduled:
        case EventType::kTaskStarted:
            return Begin(event);
        case EventType::kTaskCompleted: {
            completed.Increment();
            End(event);
            const std::scoped_lock lock(mutex);
            return window.Add(NowSecond());
        }
        case EventType::kTaskFailed:
            failed.Increment();
            return End(event);
        case EventType::kTaskRetrying:
            retried.Increment();
            return End(event);
        case EventType::kTaskCancelled:
            cancelled.Increment();
            return End(event);
        case EventType::kTaskSkipped:
            return skipped.Increment();
        case EventType::kWorkerJoined:
        case EventType::kWorkerLeft:
        case EventType::kWorkerOnline:
        case EventType::kWorkerOffline:
        case EventType::kLeaderChanged:
        case EventType::kAlert:
            return;
    }
}

MetricsView ViewOf(const Engine* engine) {
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
    std::uint64_t capacity = 0;
    std::uint64_t busy = 0;
    for (const auto& [id, slot] : engine->workers()) {
        const bool online = slot->row.status != WorkerStatus::kOffline;
        ++(online ? view.workers_online : view.workers_offline);
        if (!online) continue;
        capacity += slot->row.capacity;
        busy += slot->busy();
    }
    if (capacity > 0) {
        view.worker_utilization = static_cast<double>(busy) / static_cast<double>(capacity);
    }
    return view;
}

Meters::Meters() : families_(std::make_unique<Families>()) {}
Meters::~Meters() = default;

void Meters::Release(const Effects& effects) {
    for (const Event& event : effects.events) families_->Count(event);
    for (const Verdict& verdict : effects.verdicts) {
        if (!verdict.accepted) families_->stale.Increment();
    }
}

void Meters::OnRole(Role role) {
    // The next leader sees their ends.
    if (role != Role::kLeader) families_->begun.clear();
}

void Meters::CountRequest(int status) {
    const auto number = static_cast<std::size_t>(status / 100);
    if (number >= 1 && number <= 5) families_->by_class[number]->Increment();
}

double Meters::throughput() const {
    const std::scoped_lock lock(families_->mutex);
    return families_->window.Rate(NowSecond());
}

std::string Meters::Text(const MetricsView& view, const NodeStatus& status) {
    Families& to = *families_;
    to.pending.Set(static_cast<double>(view.tasks_pending + view.tasks_retrying));
    to.running.Set(static_cast<double>(view.tasks_scheduled + view.tasks_running));
    to.online.Set(static_cast<double>(view.workers_online));
    to.offline.Set(static_cast<double>(view.workers_offline));
    to.utilization.Set(view.worker_utilization);
    to.leader.Set(status.role == Role::kLeader ? 1 : 0);
    to.throughput.Set(throughput());
    to.uptime.Set(std::chrono::duration<double>(ReadClocks().wall - status.started_at).count());
    to.epoch.Set(static_cast<double>(status.epoch));
    to.commits.Set(static_cast<double>(status.commits));
    to.changes.Set(static_cast<double>(status.changes));
    to.elections.Set(static_cast<double>(status.elections));
    return prometheus::TextSerializer().Serialize(to.registry.Collect());
}

}  // namespace takt::internal
