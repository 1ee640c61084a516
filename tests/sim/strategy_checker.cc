#include "sim/strategy_checker.h"

#include <algorithm>
#include <cmath>

#include "sim/kinds.h"

namespace takt::internal::sim {
namespace {

// Between a decision and its message nothing takes longer.
constexpr Micros kDecided = 200ms;
// Weights hold over time: shares may be off by so many, whoever had room before.
constexpr double kOff = 4;
// A tired step leaves executions in lanes, for whoever asks first, and whoever was chosen for what
// has to wait for something more urgent has had a turn for nothing. Neither is common.
constexpr int kExcused = 5;

std::string LaneOf(const Task& task) {
    std::string lane = task.queue.str() + "|" + task.type.str() + "|" + task.opt().target.str();
    for (const auto& [name, value] : task.opt().labels) {
        lane += "|" + name.str() + "=" + value.str();
    }
    return lane;
}

// A worker that has just ended something takes what is next in line. With limits and locks that may be
// what became free in that moment, and nobody chooses.
bool IsChosen(const Task& task) {
    const TaskOptions& options = task.opt();
    return options.concurrency_max == 0 && options.rate.count == 0 && options.locks.empty();
}

}  // namespace

void StrategyChecker::OnCommit(const Batch& batch, std::uint64_t commit) {
    for (const Change& change : batch.changes) {
        const auto* setting = std::get_if<SettingPut>(&change);
        if (!setting || setting->key.view() != "strategy") continue;
        const auto strategy = ParseStrategy(setting->value);
        is_chosen_ = strategy.has_value();
        chosen_ = strategy.value_or(Strategy());
        changed_ = commit;
    }
}

void StrategyChecker::Fail(const Execution& row, Strategy strategy, const std::string& why) {
    if (++strikes_[strategy] <= kExcused) return;
    fail_(row.id.text().str() + " was given to " + row.worker.text().str() + " by " +
          std::string(Name(strategy)) + ", " + why);
}

void StrategyChecker::OnAssign(const Execution& execution, std::uint64_t commit,
                               Strategy configured) {
    const Task& task = *execution.task;
    const Strategy strategy = task.opt().strategy.value_or(is_chosen_ ? chosen_ : configured);
    // Of what is decided around a change either may hold.
    if (!task.opt().strategy && changed_ >= commit) {
        if (task.recurring()) stuck_to_[task.id].insert(execution.worker);
        return;
    }
    std::vector<WorkerId> roomy;
    for (const auto& [id, worker] : workers_.all()) {
        if (workers_.HadRoom(worker, kDecided) && CanRun(worker.row, task)) roomy.push_back(id);
    }
    switch (strategy) {
        case Strategy::kLeastTasks:
        case Strategy::kLeastConnections:
        case Strategy::kCapacityBased:
        case Strategy::kResourceAware:
            return CheckLeast(execution, strategy);
        case Strategy::kRoundRobin:
        case Strategy::kWeightedRoundRobin:
            return CheckTurns(execution, strategy, roomy);
        case Strategy::kSticky:
            return CheckSticky(execution, roomy);
        case Strategy::kConsistentHash:
            return CheckHash(execution, roomy);
        case Strategy::kRandom:
        case Strategy::kCustom:
            return;
    }
}

// --- By what they have to do --------------------------------------------------------------------

double StrategyChecker::CostOf(const SeenWorker& worker, Strategy strategy,
                               std::size_t busy) const {
    const auto told = loads_.find(worker.row.id.text().str());
    const WorkerLoad load = told == loads_.end() ? WorkerLoad{} : told->second;
    switch (strategy) {
        case Strategy::kLeastConnections:
            return double(std::max<std::size_t>(load.connections, busy));
        case Strategy::kCapacityBased:
            return double(busy) - double(worker.row.capacity);
        case Strategy::kResourceAware:
            return 0.5 * load.cpu + 0.3 * load.memory +
                   0.2 * double(busy) / double(worker.row.capacity);
        default:
            return double(busy);
    }
}

// A worker that is chosen had at its best moment no more than others had at their worst.
void StrategyChecker::CheckLeast(const Execution& row, Strategy strategy) {
    constexpr double kRounded = 1e-4;
    const SeenWorker* chosen = workers_.Find(row.worker);
    if (!chosen || !IsChosen(*row.task)) return;
    const double cost = CostOf(*chosen, strategy, WorkersSeen::Least(*chosen));
    for (const auto& [id, other] : workers_.all()) {
        if (id == row.worker || !workers_.HadRoom(other, kDecided)) continue;
        if (!CanRun(other.row, *row.task)) continue;
        if (CostOf(other, strategy, workers_.Most(other)) + kRounded >= cost) continue;
        Fail(row, strategy, "although " + id.text().str() + " had less to do");
    }
}

// --- By whose turn it is ------------------------------------------------------------------------

void StrategyChecker::CheckTurns(const Execution& row, Strategy strategy,
                                 const std::vector<WorkerId>& roomy) {
    Turns& turns = turns_[{strategy, LaneOf(*row.task)}];
    const std::uint64_t pick = ++turns.picks;
    const bool sure = IsChosen(*row.task) && std::ranges::find(roomy, row.worker) != roomy.end();
    const auto before = turns.sure.find(row.worker);
    if (strategy == Strategy::kRoundRobin && sure && before != turns.sure.end()) {
        const Steady since = turns.when[row.worker];
        for (const WorkerId& id : roomy) {
            const SeenWorker& other = *workers_.Find(id);
            const Micros while_ =
                std::chrono::duration_cast<Micros>(world_.now() - since) + kDecided;
            const bool had_turn = turns.last.contains(id) && turns.last[id] >= before->second;
            if (id == row.worker || had_turn || !workers_.HadRoom(other, while_)) continue;
            Fail(row, strategy, "although it was the turn of " + id.text().str());
        }
    }
    if (strategy == Strategy::kWeightedRoundRobin)
        CheckShares(turns, row, sure ? roomy : std::vector<WorkerId>());
    turns.last[row.worker] = pick;
    turns.when[row.worker] = world_.now();
    turns.sure.erase(row.worker);
    if (sure) turns.sure[row.worker] = pick;
}

// As long as the same workers can be chosen from, each has what its weight says.
void StrategyChecker::CheckShares(Turns& turns, const Execution& row,
                                  const std::vector<WorkerId>& roomy) {
    const auto can_run = [&](const auto& entry) {
        return entry.second.known && CanRun(entry.second.row, *row.task);
    };
    // All or none: of one that has room now and then, nobody knows when it was chosen from.
    const bool all = std::ranges::count_if(workers_.all(), can_run) == std::ptrdiff_t(roomy.size());
    if (!all) return turns.shares.clear();
    const bool same =
        turns.shares.size() == roomy.size() &&
        std::ranges::all_of(roomy, [&](const WorkerId& id) { return turns.shares.contains(id); });
    if (!same) {
        turns.shares.clear();
        for (const WorkerId& id : roomy) turns.shares[id] = 0;
    }
    ++turns.shares[row.worker];
    double picks = 0;
    double weights = 0;
    for (const auto& [id, count] : turns.shares) {
        picks += double(count);
        weights += workers_.Find(id)->row.weight;
    }
    for (const auto& [id, count] : turns.shares) {
        const double due = picks * workers_.Find(id)->row.weight / weights;
        if (std::abs(due - double(count)) <= kOff) continue;
        Fail(row, Strategy::kWeightedRoundRobin,
             "and " + id.text().str() + " had " + std::to_string(count) + " of " +
                 std::to_string(int(picks)) + ", which is not by its weight");
    }
}

// --- By the task --------------------------------------------------------------------------------

void StrategyChecker::CheckSticky(const Execution& row, const std::vector<WorkerId>& roomy) {
    if (!row.task->recurring()) return;
    std::set<WorkerId>& at = stuck_to_[row.task->id];
    const auto has_room = [&](const WorkerId& id) {
        return std::ranges::find(roomy, id) != roomy.end();
    };
    if (!at.empty() && !at.contains(row.worker) && IsChosen(*row.task) &&
        std::ranges::all_of(at, has_room)) {
        Fail(row, Strategy::kSticky, "although " + at.begin()->text().str() + " had room");
    }
    // One that had no room a moment ago may have taken it by itself, and nobody chose it.
    if (has_room(row.worker) && IsChosen(*row.task)) at.clear();
    at.insert(row.worker);
}

// Of two that have room a task always prefers the same.
void StrategyChecker::CheckHash(const Execution& row, const std::vector<WorkerId>& roomy) {
    if (!row.task->recurring() || !IsChosen(*row.task)) return;
    if (std::ranges::find(roomy, row.worker) == roomy.end()) return;
    for (const WorkerId& other : roomy) {
        if (other == row.worker) continue;
        preferred_.insert({row.task->id, row.worker, other});
        if (!preferred_.contains({row.task->id, other, row.worker})) continue;
        Fail(row, Strategy::kConsistentHash, "and not to " + other.text().str() + " as before");
    }
}

}  // namespace takt::internal::sim
