#include "sim/sim_config.h"

#include "base/failpoint.h"
#include "sim/kinds.h"
#include "sim/traits.h"

namespace takt::internal::sim {

using namespace std::chrono_literals;

NodeConfig MakeConfig(const SimulationOptions& options) {
    NodeConfig config;
    config.leadership.ttl = 3s;
    config.leadership.renew_interval = Duration(800);
    config.leadership.acquire_interval = Duration(300);
    config.leadership.margin = Duration(500);
    config.engine.worker_lease = 5s;
    config.engine.takeover_grace = 5s;
    config.engine.timeout = 8s;
    config.engine.timeout_grace = 1s;
    config.engine.worker_forgotten = 60s;
    config.engine.losses_max = 6;
    if (options.changes_per_step > 0) config.engine.changes_per_step = options.changes_per_step;
    config.committer.lazy_delay = Duration(200);
    config.stop_deadline = 2s;
    if (options.drill == Drill::kDeaths || options.drill == Drill::kMoves) {
        config.leadership.shares.hand_over_every = 1s;
        config.leadership.shares.announced_for = 3s;
        config.leadership.shares.kept_for = 6s;
    }
    if (TAKT_MUTANT("node.late_leads")) config.leadership.acquire_interval = 4s;
    if (TAKT_MUTANT("node.eager_shares")) {
        config.leadership.shares.announced_for = Duration(0);
        config.leadership.shares.hand_over_every = Duration(0);
        config.leadership.shares.kept_for = Duration(0);
    }
    return config;
}

Traits DrawTraits(World& world, const SimulationOptions& options, NodeConfig& config) {
    Traits traits;
    traits.kinds = world.Chance(0.5);
    traits.strategies = world.Chance(0.4);
    traits.operators = world.Chance(0.5);
    if (world.Chance(0.3)) {
        const auto changes = ZoneChanges();
        traits.zone = &changes[world.Below(changes.size())];
        world.begin = Time(std::chrono::seconds(traits.zone->at)) - Duration(world.Below(60'000));
    }
    if (traits.strategies) config.engine.strategy = AnyStrategy(world);
    if (world.Chance(0.2)) config.engine.ageing = Duration(100 + world.Below(3'000));
    if (options.changes_per_step == 0 && world.Chance(0.3)) {
        config.engine.changes_per_step = 1 + world.Below(10);
    }
    // As narrow as config/check.cc lets it be.
    if (options.drill == Drill::kNone && world.Chance(0.2)) {
        config.engine.worker_lease = config.leadership.ttl + Duration(world.Below(500));
    }
    std::string about = traits.kinds ? "kinds" : "";
    if (traits.strategies) about += " " + std::string(Name(config.engine.strategy));
    if (traits.operators) about += " operators";
    if (traits.zone) about += " " + std::string(traits.zone->zone);
    about += " ageing " + FormatDuration(config.engine.ageing) + ", changes";
    world.Note("world", "has", about, config.engine.changes_per_step);
    return traits;
}

}  // namespace takt::internal::sim
