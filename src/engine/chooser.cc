#include "engine/chooser.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/failpoint.h"

namespace takt::internal {
namespace {

// Before the name of a strategy of the embedding program's, where it is stored.
constexpr std::string_view kCustomPrefix = "custom:";

// Workers that a strategy is shown, if it need not see all: the best of so many is nearly as good as
// the best of ten thousand, and found in a microsecond.
constexpr std::size_t kShownMax = 64;

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

Slot& Chooser::Choose(const Execution& execution, Lane& lane) {
    Balancer& balancer = BalancerFor(execution.task->opt());
    choices_.clear();
    if (Slot* slot = FindByIndex(execution, *lane.bay->crew, balancer.needs())) {
        lane.last = slot->order;
        return *slot;
    }
    const bool all = balancer.needs() != Balancer::Needs::kSome;
    FindChoices(lane, all ? SIZE_MAX : kShownMax, all ? 0 : balancer.Wanted(execution));
    TAKT_CHECK(!choices_.empty());
    // Also if there is only one: a sticky task stays with the worker it was given to.
    const std::size_t index = balancer.Pick(execution, lane.number, choices_);
    TAKT_CHECK(index < choices_.size());
    lane.last = choices_[index].order;
    return *choices_slots_[index];
}

// The worker that an index knows to be the one; null if they are few enough to be shown, or there is no
// index. That they are few does not depend on who has room: a task would change its worker with it.
Slot* Chooser::FindByIndex(const Execution& execution, Crew& crew, Balancer::Needs needs) {
    if (crew.members().size() <= kShownMax) return nullptr;
    if (needs == Balancer::Needs::kHashRing)
        return &crew.hash_ring().Find(execution.task->id.view());
    if (needs == Balancer::Needs::kWeightedTurns) return &crew.weighted_turns(resets_).Take();
    return nullptr;
}

// Workers with room, in the order in which they joined. Of more than `count_max` those whose turn is
// next, so that all have theirs, and the one that is wanted.
void Chooser::FindChoices(const Lane& lane, std::size_t count_max, std::uint64_t wanted) {
    choices_.clear();
    choices_slots_.clear();
    lane.crew().FindFree(lane.last, count_max, choices_slots_);
    if (Slot* slot = lane.crew().FindFree(wanted);
        slot && std::ranges::find(choices_slots_, slot) == choices_slots_.end()) {
        choices_slots_.push_back(slot);
    }
    std::ranges::sort(choices_slots_, {}, &Slot::order);
    for (const Slot* slot : choices_slots_) {
        choices_.push_back({&slot->row, &slot->load, slot->busy(), slot->order});
    }
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
    if (!TAKT_MUTANT("engine.keep_strategy")) strategy_ = strategy.value_or(config_.strategy);
    strategy_name_ = strategy ? name : config_.strategy_name;
    if (!strategy) return Text();
    return custom ? Text(std::string(kCustomPrefix) + name.str()) : Text(Name(*strategy));
}

void Chooser::FollowConfig() {
    strategy_ = config_.strategy;
    strategy_name_ = config_.strategy_name;
}

}  // namespace takt::internal
