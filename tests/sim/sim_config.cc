#include "sim/sim_config.h"

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
    config.engine.sabotage.accept_any_attempt = options.sabotage_accept_any_attempt;
    config.engine.sabotage.forget_failures_on_load = options.sabotage_forget_failures;
    config.engine.sabotage.forget_fires = options.sabotage_forget_fires;
    config.engine.sabotage.forget_missed = options.sabotage_forget_missed;
    config.engine.sabotage.forget_turns_on_load = options.sabotage_forget_turns;
    config.engine.sabotage.forget_limits_on_load = options.sabotage_forget_limits;
    config.engine.sabotage.forget_keys_on_load = options.sabotage_forget_keys;
    config.engine.sabotage.forget_expiry = options.sabotage_forget_expiry;
    config.engine.sabotage.forget_pace = options.sabotage_forget_pace;
    config.engine.sabotage.reuse_lock_tokens = options.sabotage_reuse_tokens;
    config.engine.sabotage.keep_released_locks = options.sabotage_keep_released;
    config.engine.sabotage.skip_lock_waiters = options.sabotage_skip_waiters;
    if (options.changes_per_step > 0) config.engine.changes_per_step = options.changes_per_step;
    config.engine.sabotage.forget_cursor = options.sabotage_forget_cursor;
    config.engine.sabotage.forget_waiting = options.sabotage_forget_waiting;
    config.engine.sabotage.forget_results = options.sabotage_forget_results;
    config.engine.sabotage.forget_ending_on_load = options.sabotage_forget_ending;
    config.engine.sabotage.old_progress_on_load = options.sabotage_old_progress;
    config.engine.sabotage.forget_run_locks_on_load = options.sabotage_forget_run_locks;
    config.committer.lazy_delay = Duration(200);
    config.committer.sabotage_release_early = options.sabotage_release_early;
    config.stop_deadline = 2s;
    if (options.drill == Drill::kDeaths || options.drill == Drill::kMoves) {
        config.leadership.shares.hand_over_every = 1s;
        config.leadership.shares.announced_for = 3s;
        config.leadership.shares.kept_for = 6s;
    }
    if (options.sabotage_late_leads) config.leadership.acquire_interval = 4s;
    if (options.sabotage_eager_shares) {
        config.leadership.shares.announced_for = Duration(0);
        config.leadership.shares.hand_over_every = Duration(0);
        config.leadership.shares.kept_for = Duration(0);
    }
    return config;
}

}  // namespace takt::internal::sim
