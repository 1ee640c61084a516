// HandlerChecker: handlers of a task whose runs may not overlap do not either, also if a run was ended
// while its handler was at work.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "engine/config.h"
#include "model/execution.h"
#include "sim/fire_checker.h"
#include "sim/limit_checker.h"
#include "sim/world.h"
#include "store/store.h"

namespace takt::internal::sim {

class HandlerChecker {
  public:
    using Complain = std::function<void(const std::string&)>;

    HandlerChecker(World& world, const FireChecker& fires, Complain fail)
        : world_(world), fires_(fires), fail_(std::move(fail)) {}

    void OnCommit(const Batch& batch, const std::vector<RowMove>& moves, Steady sent,
                  const EngineConfig& config);
    // A leader hears of a worker.
    void OnHeard(const std::string& worker) { heard_[worker] = world_.now(); }
    // A worker begins an attempt; its handler ends; its process dies.
    void OnStart(const Execution& execution, const std::string& worker);
    void OnEnd(const AttemptRef& attempt);
    void OnDeath(const std::string& worker);

    // The store went back to where it was when this was copied; what held the next run back may be
    // forgotten with it.
    void Recall(const HandlerChecker& later) {
        handlers_.clear();
        heard_ = later.heard_;
    }

  private:
    using Key = std::tuple<std::string, std::uint32_t, Token>;
    struct Handler {
        Execution execution;
        std::string worker;
        Steady waited_until{};  // By the cancel, if there is one: until then nobody begins.
    };

    void FollowWorkers(const Batch& batch, Steady sent, const EngineConfig& config);

    World& world_;
    const FireChecker& fires_;
    const Complain fail_;
    std::map<Key, Handler> handlers_;
    std::set<std::string> maintained_;  // Workers in maintenance.
    std::map<std::string, Steady> heard_;
};

}  // namespace takt::internal::sim
