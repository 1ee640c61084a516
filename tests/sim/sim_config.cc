#include "sim/sim_config.h"

#include "base/failpoint.h"

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

}  // namespace takt::internal::sim
