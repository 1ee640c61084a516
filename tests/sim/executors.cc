#include "sim/executors.h"

namespace takt::internal::sim {
namespace {

// Links count their sessions from one on; those of stream workers are beyond.
constexpr SessionId kStreamSessions = SessionId(1) << 40;

}  // namespace

Executors::Executors(Cluster& cluster, bool quiet)
    : cluster_(cluster),
      quiet_(quiet),
      web_(cluster.world),
      checker_(cluster.world, cluster.checker) {
    cluster.web = &web_;
    cluster.executor_checker = &checker_;
    cluster.last_session = kStreamSessions;
    cluster.checker.on_commit = [this](const Batch& batch, const std::vector<RowMove>& moves,
                                       const EngineConfig& config) {
        checker_.OnCommit(batch, moves, config);
    };
    World& world = cluster.world;
    for (std::uint64_t i = 1, count = 1 + world.Below(3); i <= count; ++i) {
        executors_.push_back(
            std::make_unique<SimExecutor>(cluster, int(i), 1 + std::uint32_t(world.Below(4))));
        if (quiet) continue;
        executors_.back()->refuses = 0.05;
        executors_.back()->says_more = 0.2;
    }
}

Executors::~Executors() {
    for (const auto& executor : executors_) executor->Crash();
}

void Executors::Start() {
    for (const auto& executor : executors_) executor->Start();
}

void Executors::Fault(const Later& later) {
    World& world = cluster_.world;
    SimExecutor& executor = *executors_[world.Below(executors_.size())];
    switch (world.Below(7)) {
        case 0:
            executor.Crash();
            return later(10ms, 8s, [&executor] { executor.Start(); });
        case 1:
            return executor.Freeze(world.Between(500ms, 12s));
        case 2:
            world.Note(executor.name(), "is sick");
            executor.sick = true;
            return later(500ms, 6s, [&executor] { executor.sick = false; });
        case 3:
            executor.SetStatus(
                world.Chance(0.5) ? WorkerStatus::kMaintenance : WorkerStatus::kOffline, false);
            return later(500ms, 4s,
                         [&executor] { executor.SetStatus(WorkerStatus::kOnline, false); });
        case 4:
            return executor.Remove();
        default:
            return NetworkFault(executor, later);
    }
}

void Executors::NetworkFault(SimExecutor& executor, const Later& later) {
    World& world = cluster_.world;
    const std::string host = executor.host();
    switch (world.Below(4)) {
        case 0:
            world.Note(executor.name(), "takes no connections");
            web_.refused.insert(host);
            return later(200ms, 6s, [this, host] { web_.refused.erase(host); });
        case 1:
            world.Note(executor.name(), "cannot be reached");
            web_.silent.insert(host);
            return later(200ms, 6s, [this, host] { web_.silent.erase(host); });
        case 2:
            world.Note("web", "loses calls and answers");
            web_.lost = 0.3;
            return later(500ms, 5s, [this] { web_.lost = 0; });
        default:
            world.Note("web", "is slow");
            web_.latency_max = world.Between(50ms, 1500ms);
            return later(500ms, 5s, [this] { web_.latency_max = 3ms; });
    }
}

void Executors::Heal() {
    web_.refused.clear();
    web_.silent.clear();
    web_.lost = 0;
    web_.latency_max = 3ms;
    for (const auto& executor : executors_) {
        executor->sick = false;
        executor->refuses = 0;
        executor->Start();
        if (!quiet_) executor->SetStatus(WorkerStatus::kOnline, true);
    }
}

std::size_t Executors::pending() const {
    std::size_t count = 0;
    for (const auto& executor : executors_) count += executor->pending();
    return count;
}

}  // namespace takt::internal::sim
