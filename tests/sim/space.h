// Space: one namespace of a simulation, with whoever uses it and whoever watches over it. Names and ids
// are the same in all of them: nothing may be mixed up for that.
#pragma once

#include "sim/client.h"
#include "sim/locker.h"
#include "sim/planner.h"

namespace takt::internal::sim {

struct Space {
    Space(World& world, SimDatabase& database, const NodeConfig& common, Partition partition)
        : checker(world, partition),
          cluster{.world = world,
                  .checker = checker,
                  .config = common,
                  .traits = {},
                  .nodes = {},
                  .workers = {}},
          client(cluster),
          planner(cluster, client),
          locker(cluster, client) {
        LeadershipConfig& leadership = cluster.config.leadership;
        leadership.partition = partition;
        if (partition > 0) leadership.name = Text("team-" + std::to_string(partition));
        database.watched[partition] = {&checker, &cluster.config.engine};
    }
    // The parts refer to each other.
    Space(const Space&) = delete;
    Space& operator=(const Space&) = delete;

    Partition partition() const { return cluster.partition(); }
    // Whether a scheduler that is well leads it, or is just taking over.
    bool led() const {
        for (const auto& node : cluster.nodes) {
            if (node->elected() && node->host().well()) return true;
        }
        return false;
    }
    std::size_t pending() const { return client.pending() + planner.pending() + locker.pending(); }

    Checker checker;
    Cluster cluster;
    SimClient client;
    SimPlanner planner;
    SimLocker locker;
};

}  // namespace takt::internal::sim
