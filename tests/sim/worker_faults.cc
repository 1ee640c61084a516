#include "sim/worker_faults.h"

namespace takt::internal::sim {

void WorkerFault(Space& space, SimWorker& worker, const bool& faulty,
                 const StoreFaults::Later& later) {
    World& world = space.cluster.world;
    SimClient& client = space.client;
    switch (world.Below(5)) {
        case 0:
            worker.Crash();
            return later(10ms, 8s, [&worker] { worker.Start(); });
        case 1:
            return worker.Freeze(world.Between(500ms, 20s));
        case 2:
            worker.SayGoodbye();
            return later(100ms, 5s, [&worker] { worker.Start(); });
        case 3: {
            const bool maintained = space.cluster.traits.operators && world.Chance(0.5);
            client.SetWorker(worker.name(),
                             maintained ? WorkerStatus::kMaintenance : WorkerStatus::kDraining,
                             false);
            // Nobody leaves it so, also if that word arrives after those of the heal.
            return world.After(world.Between(500ms, 4s), nullptr, [&client, &worker, &faulty] {
                client.SetWorker(worker.name(), WorkerStatus::kOnline, !faulty);
            });
        }
        default:
            if (world.Chance(0.5)) return client.RemoveWorker(worker.name());
            client.SetWorker(worker.name(), WorkerStatus::kOffline, false);
    }
}

void LinkFault(Cluster& cluster, const SimWorker& worker) {
    if (!worker.connection()) return;
    cluster.world.Note(cluster.Of(worker.name()), "has its connection cut");
    cluster.Cut(worker.connection(), cluster.world.Chance(0.5), cluster.world.Chance(0.5));
}

}  // namespace takt::internal::sim
