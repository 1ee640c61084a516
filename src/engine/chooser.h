// Chooser: which worker gets an execution, among those that can take it now.
//
// Asks the strategy that the task names, or else the one that holds for all; each strategy learns
// by itself (whose turn it is, who had what last) for as long as this leader leads.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "engine/balancer.h"
#include "engine/config.h"
#include "engine/crew.h"
#include "engine/input.h"
#include "engine/slot.h"

namespace takt::internal {

class Chooser {
  public:
    static constexpr std::string_view kKey = "strategy";  // Of the setting that is its own.

    // `config` and `random` outlive it.
    Chooser(const EngineConfig& config, Random& random);

    // Takes up the strategy that was stored under kKey; one that is not known is as good as none.
    void Restore(const Text& value);

    // REQUIRES: a worker of the lane's can take one more.
    Slot& Choose(const Execution& execution, Lane& lane);

    // Sets the strategy for tasks that name none; nothing means the configured one. Returns what is
    // to be stored under kKey, empty to delete it; kInvalid if this scheduler has no strategy of
    // its own of that name.
    Result<Text> SetStrategy(std::optional<Strategy> strategy, const Text& name);
    // The configuration names another strategy now, and nobody chose one against it.
    void FollowConfig();
    // Forgets what the strategies have learned.
    void Reset() {
        balancers_.clear();
        ++resets_;
    }

    // How many workers were looked at for the last choice, an index's aside; for tests.
    std::size_t shown() const { return choices_.size(); }

    Strategy strategy() const { return strategy_; }
    const Text& strategy_name() const { return strategy_name_; }  // Of a Strategy::kCustom.

  private:
    Balancer& BalancerFor(const TaskOptions& options);
    Slot* FindByIndex(const Execution& execution, Crew& crew, Balancer::Needs needs);
    void FindChoices(const Lane& lane, std::size_t count_max, std::uint64_t wanted);

    const EngineConfig& config_;
    Random& random_;
    Strategy strategy_;
    Text strategy_name_;
    std::map<std::pair<Strategy, Text>, std::unique_ptr<Balancer>> balancers_;
    std::uint64_t resets_ = 0;
    std::vector<Choice> choices_;       // Scratch.
    std::vector<Slot*> choices_slots_;  // Scratch.
};

}  // namespace takt::internal
