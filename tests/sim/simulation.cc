#include "sim/simulation.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/log.h"
#include "sim/drills.h"
#include "sim/executors.h"
#include "sim/sim_config.h"
#include "sim/space.h"
#include "sim/store_faults.h"
#include "sim/worker_faults.h"

namespace takt::internal::sim {
namespace {

// After the heal: a few leases, the longest chain of timeouts and retries, and some room.
constexpr Micros kLivenessMax = 180s;
constexpr Micros kHour = 3600s;

// How long recurring tasks go on undisturbed, so that each is seen to fire again.
constexpr Micros kUndisturbed = 6s;

// Small enough to be full now and then.
constexpr std::size_t kPendingMax = 25;

// A fault of stores that forget.
constexpr std::uint64_t kFailover = 6;

class Simulation {
  public:
    explicit Simulation(const SimulationOptions& options)
        : options_(options),
          quiet_(options.quiet || options.drill != Drill::kNone),
          world_(options.seed, options.trace),
          database_(world_),
          drills_(world_, database_, hosts_, spaces_,
                  [this](const std::string& what) {
                      if (failure_.empty()) failure_ = what;
                  }),
          store_faults_(world_, database_, spaces_) {
        NodeConfig config = MakeConfig(options);
        traits_ = DrawTraits(world_, options, config);
        hours_ = !quiet_ && world_.Chance(0.1) && options.hours;
        if (!quiet_) {
            database_.limits.pipeline_max = 1 + world_.Below(3);
            if (world_.Chance(0.5)) config.engine.pending_max = kPendingMax;
            if (world_.Chance(0.3)) config.engine.log_bytes_max = 100 + world_.Below(500);
            if (world_.Chance(0.5)) {
                config.engine.retention = Duration(4'000 + world_.Below(20'000));
            }
        }
        // Where the store is slow for one namespace, some leader of it leads another one too.
        const bool slow = options.drill == Drill::kSlow || options.drill == Drill::kStuck;
        const std::uint64_t hosts = options.drill == Drill::kNone ? 1 + world_.Below(3)
                                    : slow                        ? 2
                                                                  : 3;
        for (std::uint64_t i = 1; i <= hosts; ++i) {
            hosts_.push_back(std::make_unique<SimHost>(world_, database_, int(i)));
        }
        for (std::size_t i = 0; i < options.spaces; ++i) MakeSpace(config, Partition(i));
        if (options.executors) {
            executors_ = std::make_unique<Executors>(spaces_.front()->cluster, quiet_);
        }
    }

    // The actors hang in each other's events: those must find nobody alive.
    ~Simulation() {
        for (const auto& space : spaces_) {
            for (const auto& worker : space->cluster.workers) worker->Crash();
        }
        for (const auto& host : hosts_) host->Crash();
    }

    SimulationResult Run() {
        for (const auto& host : hosts_) {
            // The one that comes and goes.
            if (options_.drill == Drill::kMoves && host == hosts_.back()) continue;
            host->Start();
        }
        for (const auto& space : spaces_) {
            for (const auto& worker : space->cluster.workers) worker->Start();
        }
        if (executors_) executors_->Start();
        faulty_ = !quiet_ || options_.forgetful;
        if (faulty_) FaultLater();
        drills_.Begin(options_.drill);
        for (const auto& space : spaces_) {
            for (std::uint64_t tasks = world_.Below(4); tasks > 0; --tasks) {
                space->planner.MakeTask(quiet_);
            }
        }
        NextStep(0);
        while (steps_done_ < options_.steps && !failed()) RunFor(100ms);
        Heal();
        CheckLiveness();
        return End();
    }

  private:
    void MakeSpace(const NodeConfig& config, Partition partition) {
        Space& space =
            *spaces_.emplace_back(std::make_unique<Space>(world_, database_, config, partition));
        Cluster& cluster = space.cluster;
        cluster.traits = traits_;
        if (quiet_) {
            cluster.handler_max = 800ms;  // Within every timeout.
        } else {
            cluster.handler_fails = 0.2;
            cluster.handler_hangs = 0.03;
        }
        const bool forgets = space.checker.store_forgets = options_.forgetful;
        const bool drilled = options_.drill != Drill::kNone;
        space.checker.workers_are_well = drilled || (quiet_ && forgets);
        space.checker.limits.clocks_are_right = quiet_ && !forgets;
        space.checker.policies.nothing_fails = space.checker.choices.nothing_fails =
            options_.quiet && !drilled && !forgets;
        const std::uint64_t workers = 1 + world_.Below(4);
        // There is something to choose from as long as workers have room.
        const std::uint64_t most = traits_.strategies ? 12 : 4;
        for (const auto& host : hosts_) {
            cluster.nodes.push_back(std::make_unique<SimNode>(cluster, *host));
        }
        for (std::uint64_t i = 1; i <= workers; ++i) {
            cluster.workers.push_back(std::make_unique<SimWorker>(
                cluster, int(i), 1 + std::uint32_t(world_.Below(most))));
        }
    }

    bool failed() const {
        return !failure_.empty() || std::ranges::any_of(spaces_, [](const auto& space) {
            return !space->checker.failure().empty();
        });
    }
    // Of all namespaces, and of what is seen from outside of them.
    std::string failure() const {
        if (!failure_.empty()) return failure_;
        for (const auto& space : spaces_) {
            const std::string& failure = space->checker.failure();
            if (failure.empty()) continue;
            const bool only = spaces_.size() == 1;
            return only ? failure
                        : "namespace " + std::to_string(space->partition()) + ": " + failure;
        }
        return {};
    }

    SimulationResult End() {
        SimulationResult result;
        for (const auto& space : spaces_) {
            Checker& checker = space->checker;
            // A scheduler that dies leaves some work assigned that nobody got.
            const bool once =
                quiet_ && options_.drill != Drill::kDeaths && !options_.forgetful &&
                (options_.drill != Drill::kStuck || space->partition() != Drills::kPoor);
            if (!failed()) checker.CheckEnd(database_.rows, once);
            result.executions += checker.Accepted().size();
            result.runs += checker.runs();
            result.commits += checker.commits();
            result.losses += checker.losses();
            result.due_times += checker.fires.due_times();
        }
        result.failure = failure();
        result.hash = world_.hash();
        result.events = world_.events();
        result.moves = drills_.moves();
        result.faults = faults_;
        return result;
    }

    void RunFor(Micros time) {
        const Steady until = world_.now() + time;
        while (!failed() && world_.RunOne(until)) {
        }
    }

    SimHost& AnyHost() { return *hosts_[world_.Below(hosts_.size())]; }
    // Of several only; else there is nothing to draw.
    Space& AnySpace() { return *spaces_[spaces_.size() == 1 ? 0 : world_.Below(spaces_.size())]; }
    static SimWorker& AnyWorker(const Space& space) {
        const auto& workers = space.cluster.workers;
        return *workers[space.cluster.world.Below(workers.size())];
    }

    void NextStep(std::size_t number) {
        steps_done_ = number;
        if (number >= options_.steps) return;
        world_.After(world_.Between(0us, 1s), nullptr, [this, number] {
            if (options_.steps_left_out.contains(number)) return NextStep(number + 1);
            Space& space = AnySpace();
            if (traits_.strategies && world_.Chance(0.05)) space.client.SetStrategy();
            const std::uint64_t dice = quiet_ ? 0 : world_.Below(18);
            if (dice < 8) {
                space.client.SubmitSomething(quiet_);
            } else if (dice < 10) {
                space.client.CancelSomething();
            } else if (dice < 11) {
                traits_.operators&& world_.Chance(0.5) ? space.client.ConcludeSomething()
                                                       : space.client.RedriveSomething();
            } else if (dice >= 14) {
                space.locker.LockSomething();
            } else {
                space.planner.DoSomething();
            }
            NextStep(number + 1);
        });
    }

    // --- Faults ---------------------------------------------------------------------------------

    void FaultLater() {
        world_.After(world_.Between(100ms, 3s), nullptr, [this] {
            if (!faulty_) return;
            if (options_.faults_left_out.contains(faults_++)) return FaultLater();
            switch (options_.forgetful && (quiet_ || world_.Chance(0.4))
                        ? kFailover
                        : world_.Below(executors_ ? 6 : 4)) {
                case 0:
                    NodeFault(AnyHost());
                    break;
                case 1: {
                    Space& space = AnySpace();
                    WorkerFault(space, AnyWorker(space), faulty_, Undo());
                    break;
                }
                case 2:
                    store_faults_.Fault(Undo());
                    break;
                case 3: {
                    Space& space = AnySpace();
                    LinkFault(space.cluster, AnyWorker(space));
                    break;
                }
                case kFailover:
                    store_faults_.FailOver(Undo());
                    break;
                default:
                    executors_->Fault(Undo());
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

    StoreFaults::Later Undo() {
        return [this](Micros from, Micros to, std::function<void()> undo) {
            Later(from, to, std::move(undo));
        };
    }

    void NodeFault(SimHost& node) {
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
                // Times that a clock ahead gave are waited for, and CheckLiveness waits for so long.
                const Duration offset = node.wall_offset() + (world_.Chance(0.5) ? jump : -jump);
                node.SetClock(std::clamp(offset, -2 * hour, 2 * hour));
            }
        }
    }

    // --- The end --------------------------------------------------------------------------------

    void Heal() {
        world_.Note("world", "heals");
        faulty_ = false;
        drills_.End();
        store_faults_.Heal();
        for (const auto& host : hosts_) {
            host->store_link.cut = false;
            host->SetClock(Duration(0));
            host->Start();
        }
        for (const auto& space : spaces_) HealSpace(*space);
        if (executors_) executors_->Heal();
    }

    void HealSpace(Space& space) {
        Cluster& cluster = space.cluster;
        cluster.handler_fails = cluster.handler_hangs = 0;
        // Quick enough that one worker keeps up with all recurring tasks.
        cluster.handler_max = 100ms;
        for (const auto& worker : cluster.workers) worker->Start();
        for (const auto& worker : cluster.workers) {
            if (!quiet_) space.client.SetWorker(worker->name(), WorkerStatus::kOnline, true);
        }
        space.planner.OpenQueues();
    }

    void CheckLiveness() {
        const Steady healed = world_.now();
        for (const auto& space : spaces_) space->client.Canary();
        for (const auto& space : spaces_) {
            while (!failed() && !space->client.canary_finished()) {
                RunFor(100ms);
                RestartStopped();
                if (world_.now() - healed > kLivenessMax) {
                    return space->checker.Fail("the canary did not finish after the heal");
                }
            }
        }
        RunFor(kUndisturbed);
        for (const auto& space : spaces_) {
            if (!failed()) space->checker.fires.CheckPunctual(world_.wall());
            if (!failed()) space->checker.policies.CheckDelays(world_.wall());
            space->planner.PauseAll();
        }
        // A clock that was an hour ahead may have set times an hour from now.
        const Micros bound = kLivenessMax + (hours_ ? 2 * kHour : Micros(0));
        const auto over = [](const auto& space) {
            return space->checker.AllFinished() && space->pending() == 0;
        };
        while (!failed() &&
               (!std::ranges::all_of(spaces_, over) || (executors_ && executors_->pending() > 0))) {
            RunFor(100ms);
            RestartStopped();
            if (world_.now() - healed <= bound) continue;
            // CheckEnd names the executions that are left.
            for (const auto& space : spaces_) {
                if (space->checker.AllFinished() && space->pending() > 0) {
                    space->checker.OnUnanswered("have something done before the heal");
                }
            }
            return;
        }
    }

    // A stop in order may come to its end only after the heal.
    void RestartStopped() {
        for (const auto& host : hosts_) host->Start();
        for (const auto& space : spaces_) {
            for (const auto& worker : space->cluster.workers) worker->Start();
        }
    }

    const SimulationOptions options_;
    const bool quiet_;
    World world_;
    Traits traits_;
    SimDatabase database_;
    Drills::Hosts hosts_;
    Drills::Spaces spaces_;
    Drills drills_;
    StoreFaults store_faults_;
    std::unique_ptr<Executors> executors_;  // If there are any.
    std::string failure_;                   // Of the drill.
    bool faulty_ = false;
    bool hours_ = false;  // Clocks may be wrong by hours.
    std::size_t steps_done_ = 0;
    std::size_t faults_ = 0;  // So far.
};

}  // namespace

SimulationResult Simulate(const SimulationOptions& options) {
    SetLogLevel(options.trace ? LogLevel::kInfo : LogLevel::kOff);
    Simulation simulation(options);
    return simulation.Run();
}

}  // namespace takt::internal::sim
