// StrategyChecker: each load-balancing strategy keeps what it promises, as far as what is sent to
// workers shows it. Only where nothing fails: there is one leader then, and all clocks are right.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/workers_seen.h"

namespace takt::internal::sim {

class StrategyChecker {
  public:
    using Complain = std::function<void(const std::string&)>;

    StrategyChecker(World& world, const WorkersSeen& workers, Complain fail)
        : world_(world), workers_(workers), fail_(std::move(fail)) {}

    void OnCommit(const Batch& batch, std::uint64_t commit);
    // An attempt is sent that came with that commit. `configured`: for those that name none.
    void OnAssign(const Execution& execution, std::uint64_t commit, Strategy configured);
    // A worker tells its load with each sign of life, always the same.
    void OnLoad(const std::string& worker, const WorkerLoad& load) { loads_[worker] = load; }

  private:
    using Lane = std::string;
    // Whom a strategy chose in a lane, one after the other.
    struct Turns {
        std::uint64_t picks = 0;
        std::map<WorkerId, std::uint64_t> last;  // The number of its last pick.
        std::map<WorkerId, std::uint64_t> sure;  // The same, if it was a choice for sure.
        std::map<WorkerId, Steady> when;
        // Since the same workers have had room at each pick: how often each was chosen.
        std::map<WorkerId, std::uint64_t> shares;
    };

    void CheckLeast(const Execution& row, Strategy strategy);
    double CostOf(const SeenWorker& worker, Strategy strategy, std::size_t busy) const;
    void CheckTurns(const Execution& row, Strategy strategy, const std::vector<WorkerId>& roomy);
    void CheckShares(Turns& turns, const Execution& row, const std::vector<WorkerId>& roomy);
    void CheckSticky(const Execution& row, const std::vector<WorkerId>& roomy);
    void CheckHash(const Execution& row, const std::vector<WorkerId>& roomy);
    void Fail(const Execution& row, Strategy strategy, const std::string& why);

    World& world_;
    const WorkersSeen& workers_;
    const Complain fail_;
    std::map<std::string, WorkerLoad> loads_;
    std::map<Strategy, int> strikes_;
    Strategy chosen_{};  // By an operator, for tasks that name none.
    bool is_chosen_ = false;
    std::uint64_t changed_ = 0;  // The commit that last changed that.
    std::map<std::pair<Strategy, Lane>, Turns> turns_;
    std::map<TaskId, std::set<WorkerId>> stuck_to_;               // Where a sticky task may be.
    std::set<std::tuple<TaskId, WorkerId, WorkerId>> preferred_;  // By consistent hashing.
};

}  // namespace takt::internal::sim
