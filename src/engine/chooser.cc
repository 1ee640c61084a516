#include "engine/chooser.h"

#include <string>

#include "base/check.h"

namespace takt::internal {
namespace {

// Before the name of a strategy of the embedding program's, where it is stored.
constexpr std::string_view kCustomPrefix = "custom:";

}  // namespace

Chooser::Chooser(const EngineConfig& config, Random& random)
    : config_(config),
      random_(random),
      strategy_(config.strategy),
      strategy_name_(config.strategy_name) {}

void Chooser::Restore(const Text& value) {
    const std::string_view name = value;
    if (name.starts_with(kCustomPrefix)) {
        strategy_ = Strategy::kCustom;
        strategy_name_ = Text(name.substr(kCustomPrefix.size()));
        return;
    }
    strategy_ = ParseStrategy(name).value_or(config_.strategy);
    strategy_name_ = strategy_ == Strategy::kCustom ? config_.strategy_name : Text();
}

Slot& Chooser::Choose(const Execution& execution, const Lane& lane) {
    choices_.clear();
    choices_slots_.clear();
    for (Slot* slot : lane.pool) {
        if (!slot->can_take) continue;
        choices_.push_back({&slot->row, &slot->load, slot->busy(), slot->order});
        choices_slots_.push_back(slot);
    }
    TAKT_CHECK(choices_.size() == lane.free && !choices_.empty());
    // Also if there is only one: a sticky task stays with the worker it was given to.
    const std::size_t index =
        BalancerFor(execution.task->opt()).Pick(execution, lane.number, choices_);
    TAKT_CHECK(index < choices_.size());
    return *choices_slots_[index];
}

Balancer& Chooser::BalancerFor(const TaskOptions& options) {
    const Strategy strategy = options.strategy.value_or(strategy_);
    const Text name = strategy != Strategy::kCustom ? Text()
                      : options.strategy            ? options.strategy_name
                                                    : strategy_name_;
    auto& balancer = balancers_[{strategy, name}];
    if (balancer) return *balancer;
    balancer = MakeBalancer(strategy, random_);
    const auto own = config_.balancers.find(name.str());
    if (strategy == Strategy::kCustom && own != config_.balancers.end()) balancer = own->second();
    // A strategy of another program's: its tasks still have to go somewhere.
    if (!balancer) balancer = MakeBalancer(Strategy::kLeastTasks, random_);
    return *balancer;
}

Result<Text> Chooser::SetStrategy(std::optional<Strategy> strategy, const Text& name) {
    const bool custom = strategy == Strategy::kCustom;
    if (custom && !config_.balancers.contains(name.str())) {
        return Fail(ErrorCode::kInvalid,
                    "this scheduler has no strategy of its own named '" + name.str() + "'",
                    "strategy");
    }
    strategy_ = strategy.value_or(config_.strategy);
    strategy_name_ = strategy ? name : config_.strategy_name;
    if (!strategy) return Text();
    return custom ? Text(std::string(kCustomPrefix) + name.str()) : Text(Name(*strategy));
}

void Chooser::FollowConfig() {
    strategy_ = config_.strategy;
    strategy_name_ = config_.strategy_name;
}

}  // namespace takt::internal
