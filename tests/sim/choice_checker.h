// ChoiceChecker: who is given what. An execution goes to a worker that serves it, of all that a
// worker could take the most urgent goes first, and nothing waits while somebody has room for it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/config.h"
#include "sim/limit_checker.h"
#include "sim/strategy_checker.h"
#include "sim/workers_seen.h"

namespace takt::internal::sim {

class ChoiceChecker {
  public:
    using Complain = std::function<void(const std::string&)>;

    ChoiceChecker(World& world, Complain fail)
        : strategies(world, workers_, fail),
          world_(world),
          fail_(std::move(fail)),
          workers_(world) {}

    StrategyChecker strategies;

    // Nothing fails: nobody who has room may be left without what lies ready for long.
    bool nothing_fails = false;

    void OnCommit(const Batch& batch, const std::vector<RowMove>& moves);
    // An attempt is sent.
    void OnAssign(const Execution& execution, const Decided& decided, const EngineConfig& config);
    // It arrives at a worker that says this of itself.
    void OnStart(const Worker& worker, const Execution& execution);
    // A handler has ended an attempt.
    void OnEnd(const AttemptRef& attempt) { workers_.OnEnd(attempt); }
    // An operator asks for it; when it is done, and whether, nobody knows. Removed is offline.
    void OnStatusAsked(const std::string& worker, WorkerStatus status);

    // The store went back to where it was when this was copied; see Checker::Recall.
    void Recall(const ChoiceChecker& later);

  private:
    struct Written {
        std::uint64_t commit = 0;  // Its number.
        std::uint64_t epoch = 0;
    };
    struct Row {
        Execution execution;
        Written written;  // Last.
    };
    struct QueueSeen {
        std::uint64_t changed = 0;  // The commit that last said something of its limits.
        bool limited = false;
    };

    void CheckMaintenance(const Batch& batch);
    void CheckServed(const Execution& row);
    void CheckOrder(const Execution& execution, Time at, Duration ageing);
    void CheckNobodyIdle();
    bool LayReady(const Row& row, const Written& begun, Time at) const;

    World& world_;
    const Complain fail_;
    WorkersSeen workers_;
    std::uint64_t commits_ = 0;
    std::map<ExecutionId, Row> live_;
    std::map<Text, QueueSeen> queues_;
    std::map<std::pair<ExecutionId, std::uint32_t>, Written> begun_;  // By attempt.
    std::map<WorkerId, bool> set_aside_;      // In maintenance, as it was stored last.
    std::map<std::string, Steady> put_back_;  // When an operator last asked for another status.
};

}  // namespace takt::internal::sim
