#include "sim/simulation.h"

#include "base/log.h"
#include "sim/client.h"
#include "sim/locker.h"
#include "sim/planner.h"

namespace takt::internal::sim {
namespace {

// After the heal: a few leases, the longest chain of timeouts and retries, and some room.
constexpr Micros kLivenessMax = 180s;
constexpr Micros kHour = 3600s;

// How long recurring tasks go on undisturbed, so that each is seen to fire again.
constexpr Micros kUndisturbed = 6s;

// Small enough to be full now and then.
constexpr std::size_t kPendingMax = 25;

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
    config.engine.sabotage.forget_run_locks_on_load = options.sabotage_forget_run_locks;
    config.committer.lazy_delay = Duration(200);
    config.committer.sabotage_release_early = options.sabotage_release_early;
    config.stop_deadline = 2s;
    return config;
}

class Simulation {
  public:
    explicit Simulation(const SimulationOptions& options)
        : options_(options),
          world_(options.seed, options.trace),
          checker_(world_),
          database_(world_, checker_),
          cluster_{.world = world_,
                   .checker = checker_,
                   .database = database_,
                   .config = MakeConfig(options),
                   .nodes = {},
                   .workers = {}},
          client_(cluster_),
          planner_(cluster_, client_),
          locker_(cluster_, client_) {
        database_.sabotage_no_fence = options.sabotage_no_fence;
        hours_ = !options.quiet && world_.Chance(0.1);
        if (options.quiet) {
            cluster_.handler_max = 800ms;  // Within every timeout.
        } else {
            database_.limits.pipeline_max = 1 + world_.Below(3);
            if (world_.Chance(0.5)) cluster_.config.engine.pending_max = kPendingMax;
            if (world_.Chance(0.5)) {
                cluster_.config.engine.retention = Duration(4'000 + world_.Below(20'000));
            }
            cluster_.handler_fails = 0.2;
            cluster_.handler_hangs = 0.03;
        }
        const std::uint64_t nodes = 1 + world_.Below(3);
        const std::uint64_t workers = 1 + world_.Below(4);
        for (std::uint64_t i = 1; i <= nodes; ++i) {
            cluster_.nodes.push_back(std::make_unique<SimNode>(cluster_, int(i)));
        }
        for (std::uint64_t i = 1; i <= workers; ++i) {
            cluster_.workers.push_back(
                std::make_unique<SimWorker>(cluster_, int(i), 1 + std::uint32_t(world_.Below(4))));
        }
    }

    // The actors hang in each other's events: those must find nobody alive.
    ~Simulation() {
        for (const auto& worker : cluster_.workers) worker->Crash();
        for (const auto& node : cluster_.nodes) node->Crash();
    }

    SimulationResult Run() {
        for (const auto& node : cluster_.nodes) node->Start();
        for (const auto& worker : cluster_.workers) worker->Start();
        faulty_ = !options_.quiet;
        if (faulty_) FaultLater();
        for (std::uint64_t tasks = world_.Below(4); tasks > 0; --tasks) {
            planner_.MakeTask(options_.quiet);
        }
        NextStep(0);
        while (steps_done_ < options_.steps && checker_.failure().empty()) RunFor(100ms);
        Heal();
        CheckLiveness();
        if (checker_.failure().empty()) checker_.CheckEnd(database_.rows, options_.quiet);
        return {.failure = checker_.failure(),
                .hash = world_.hash(),
                .events = world_.events(),
                .executions = checker_.Accepted().size(),
                .runs = checker_.runs(),
                .commits = checker_.commits(),
                .losses = checker_.losses(),
                .due_times = checker_.fires.due_times()};
    }

  private:
    void RunFor(Micros time) {
        const Steady until = world_.now() + time;
        while (checker_.failure().empty() && world_.RunOne(until)) {
        }
    }

    SimNode& AnyNode() { return *cluster_.nodes[world_.Below(cluster_.nodes.size())]; }
    SimWorker& AnyWorker() { return *cluster_.workers[world_.Below(cluster_.workers.size())]; }

    void NextStep(std::size_t number) {
        steps_done_ = number;
        if (number >= options_.steps) return;
        world_.After(world_.Between(0us, 1s), nullptr, [this, number] {
            const std::uint64_t dice = options_.quiet ? 0 : world_.Below(18);
            if (dice < 8) {
                client_.SubmitSomething(options_.quiet);
            } else if (dice < 10) {
                client_.CancelSomething();
            } else if (dice < 11) {
                client_.RedriveSomething();
            } else if (dice >= 14) {
                locker_.LockSomething();
            } else {
                planner_.DoSomething();
            }
            NextStep(number + 1);
        });
    }

    // --- Faults ---------------------------------------------------------------------------------

    void FaultLater() {
        world_.After(world_.Between(100ms, 3s), nullptr, [this] {
            if (!faulty_) return;
            switch (world_.Below(4)) {
                case 0:
                    NodeFault(AnyNode());
                    break;
                case 1:
                    WorkerFault(AnyWorker());
                    break;
                case 2:
                    StoreFault();
                    break;
                default:
                    LinkFault(AnyWorker());
                    break;
            }
            FaultLater();
        });
    }

    // Undoes a fault after a while, unless the heal has come first.
    void Later(Micros from, Micros to, std::function<void()> undo) {
        world_.After(world_.Between(from, to), nullptr, [this, undo = std::move(undo)] {
            if (faulty_) undo();
        });
    }

    void NodeFault(SimNode& node) {
        switch (world_.Below(5)) {
            case 0:
                node.Crash();
                return Later(100ms, 6s, [&node] { node.Start(); });
            case 1:
                node.StopInOrder();
                return Later(3s, 6s, [&node] { node.Start(); });
            case 2:
                return node.Freeze(world_.Between(100ms, 9s));
            case 3:
                world_.Note(node.name(), "cannot reach the store");
                node.store_link.cut = true;
                return Later(200ms, 6s, [&node] { node.store_link.cut = false; });
            default: {
                const Duration hour = 1h;
                const Duration jump = hours_ && world_.Chance(0.5) ? hour : Duration(5'000);
                node.SetClock(node.wall_offset() + (world_.Chance(0.5) ? jump : -jump));
            }
        }
    }

    void WorkerFault(SimWorker& worker) {
        switch (world_.Below(5)) {
            case 0:
                worker.Crash();
                return Later(10ms, 8s, [&worker] { worker.Start(); });
            case 1:
                return worker.Freeze(world_.Between(500ms, 20s));
            case 2:
                worker.SayGoodbye();
                return Later(100ms, 5s, [&worker] { worker.Start(); });
            case 3:
                client_.SetWorker(worker.name(), WorkerStatus::kDraining, false);
                return Later(500ms, 4s, [this, &worker] {
                    client_.SetWorker(worker.name(), WorkerStatus::kOnline, false);
                });
            default:
                if (world_.Chance(0.5)) return client_.RemoveWorker(worker.name());
                client_.SetWorker(worker.name(), WorkerStatus::kOffline, false);
        }
    }

    void StoreFault() {
        switch (world_.Below(3)) {
            case 0:
                world_.Note("store", "is slow");
                database_.latency_max = world_.Between(50ms, 900ms);
                return Later(500ms, 5s, [this] { database_.latency_max = 2ms; });
            case 1:
                world_.Note("store", "loses answers");
                database_.reply_lost = 0.3;
                return Later(500ms, 5s, [this] { database_.reply_lost = 0; });
            default:
                world_.Note("store", "is reached late and twice");
                database_.request_late = database_.request_again = 0.2;
                return Later(500ms, 5s,
                             [this] { database_.request_late = database_.request_again = 0; });
        }
    }

    void LinkFault(SimWorker& worker) {
        if (!worker.connection()) return;
        world_.Note(worker.name(), "has its connection cut");
        cluster_.Cut(worker.connection(), world_.Chance(0.5), world_.Chance(0.5));
    }

    // --- The end --------------------------------------------------------------------------------

    void Heal() {
        world_.Note("world", "heals");
        faulty_ = false;
        database_.latency_max = 2ms;
        database_.reply_lost = database_.request_late = database_.request_again = 0;
        cluster_.handler_fails = cluster_.handler_hangs = 0;
        // Quick enough that one worker keeps up with all recurring tasks.
        cluster_.handler_max = 100ms;
        for (const auto& node : cluster_.nodes) {
            node->store_link.cut = false;
            node->SetClock(Duration(0));
            node->Start();
        }
        for (const auto& worker : cluster_.workers) worker->Start();
        for (const auto& worker : cluster_.workers) {
            if (!options_.quiet) client_.SetWorker(worker->name(), WorkerStatus::kOnline, true);
        }
        planner_.OpenQueues();
    }

    void CheckLiveness() {
        const Steady healed = world_.now();
        client_.Canary();
        while (checker_.failure().empty() && !client_.canary_finished()) {
            RunFor(100ms);
            RestartStopped();
            if (world_.now() - healed > kLivenessMax) {
                return checker_.Fail("the canary did not finish after the heal");
            }
        }
        RunFor(kUndisturbed);
        if (checker_.failure().empty()) checker_.fires.CheckPunctual(world_.wall());
        planner_.PauseAll();
        // A clock that was an hour ahead may have set times an hour from now.
        const Micros bound = kLivenessMax + (hours_ ? 2 * kHour : Micros(0));
        while (checker_.failure().empty() &&
               (!checker_.AllFinished() ||
                client_.pending() + planner_.pending() + locker_.pending() > 0)) {
            RunFor(100ms);
            RestartStopped();
            if (world_.now() - healed > bound) return;  // CheckEnd names what is left.
        }
    }

    // A stop in order may come to its end only after the heal.
    void RestartStopped() {
        for (const auto& node : cluster_.nodes) node->Start();
        for (const auto& worker : cluster_.workers) worker->Start();
    }

    const SimulationOptions options_;
    World world_;
    Checker checker_;
    SimDatabase database_;
    Cluster cluster_;
    SimClient client_;
    SimPlanner planner_;
    SimLocker locker_;
    bool faulty_ = false;
    bool hours_ = false;  // Clocks may be wrong by hours.
    std::size_t steps_done_ = 0;
};

}  // namespace

SimulationResult Simulate(const SimulationOptions& options) {
    SetLogLevel(options.trace ? LogLevel::kInfo : LogLevel::kOff);
    Simulation simulation(options);
    return simulation.Run();
}

}  // namespace takt::internal::sim
