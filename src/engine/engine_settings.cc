// Settings: what an operator said that the next leader must know too.
#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "engine/engine.h"

namespace takt::internal {
namespace {

// Under these keys the engine keeps what is its own. Other keys are other people's.
constexpr std::string_view kStrategyKey = "strategy";
constexpr std::string_view kCustomPrefix = "custom:";
constexpr std::string_view kQueuePrefix = "queue/";
constexpr std::string_view kUniquePrefix = "unique/";

// Reads the numbers that stand in `text`, parted by spaces; false unless there are exactly enough.
template <std::size_t kCount>
bool ReadNumbers(std::string_view text, std::array<std::int64_t, kCount>& numbers) {
    for (std::int64_t& number : numbers) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc()) return false;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        if (text.starts_with(' ')) text.remove_prefix(1);
    }
    return text.empty();
}

Text KeyOf(std::string_view prefix, std::string_view name) {
    return Text(std::string(prefix) + std::string(name));
}

}  // namespace

void Engine::RestoreSetting(const Text& key, const Text& value) {
    const std::string_view name = key;
    if (name == kStrategyKey) {
        const std::string_view name_of_own = value;
        if (name_of_own.starts_with(kCustomPrefix)) {
            strategy_ = Strategy::kCustom;
            strategy_name_ = Text(name_of_own.substr(kCustomPrefix.size()));
        } else {
            strategy_ = ParseStrategy(value).value_or(config_.strategy);
            strategy_name_ = strategy_ == Strategy::kCustom ? config_.strategy_name : Text();
        }
    } else if (name.starts_with(kQueuePrefix)) {
        RestoreQueue(Text(name.substr(kQueuePrefix.size())), value);
    } else if (name.starts_with(kUniquePrefix) && !config_.sabotage.forget_keys_on_load) {
        RestoreClaim(Text(name.substr(kUniquePrefix.size())), value);
    }
}

void Engine::On(SetSetting& set) {
    draft_.Set(SettingPut{std::move(set.key), std::move(set.value)});
    draft_.Reply(set.request, Answer{});
}

void Engine::On(PostAlert& alert) {
    draft_.Set(SettingPut{std::move(alert.key), std::move(alert.value)});
    draft_.Emit(Event{.type = EventType::kAlert,
                      .task = std::move(alert.task),
                      .worker = std::move(alert.worker),
                      .detail = std::move(alert.detail)});
    draft_.Reply(alert.request, Answer{});
}

void Engine::On(SetStrategy& set) {
    if (set.reset) {
        balancers_.clear();
        return draft_.Reply(set.request, Answer{});
    }
    const bool custom = set.strategy == Strategy::kCustom;
    if (custom && !config_.balancers.contains(set.name.str())) {
        return draft_.Reply(set.request, Fail(ErrorCode::kInvalid,
                                              "this scheduler has no strategy of its own named '" +
                                                  set.name.str() + "'",
                                              "strategy"));
    }
    strategy_ = set.strategy.value_or(config_.strategy);
    strategy_name_ = set.strategy ? set.name : config_.strategy_name;
    Text value;  // Nothing deletes it.
    if (set.strategy) value = custom ? KeyOf(kCustomPrefix, set.name) : Text(Name(*set.strategy));
    draft_.Set(SettingPut{Text(kStrategyKey), std::move(value)});
    draft_.Reply(set.request, Answer{});
}

void Engine::On(SetQueue& set) {
    Queue& queue = lanes_.QueueOf(set.queue);
    QueueLimits& limits = queue.limits;
    limits.paused = set.paused.value_or(limits.paused);
    limits.working_max = set.working_max.value_or(limits.working_max);
    limits.rate = set.rate.value_or(limits.rate);
    queue.pace.Set(limits.rate, now_.steady);
    const bool plain = !limits.paused && limits.working_max == 0 && limits.rate.count == 0;
    const std::string value =
        std::to_string(int(limits.paused)) + " " + std::to_string(limits.working_max) + " " +
        std::to_string(limits.rate.count) + " " + std::to_string(limits.rate.per.count());
    draft_.Set(SettingPut{KeyOf(kQueuePrefix, set.queue), plain ? Text() : Text(value)});
    draft_.Emit(Event{.type = EventType::kQueueChanged, .detail = set.queue});
    draft_.Reply(set.request, Answer{});
    Pour(queue);
}

void Engine::RestoreQueue(const Text& name, std::string_view value) {
    std::array<std::int64_t, 4> numbers{};
    if (!ReadNumbers(value, numbers)) return;
    Queue& queue = lanes_.QueueOf(name);
    queue.limits = {.paused = numbers[0] != 0,
                    .working_max = std::uint32_t(numbers[1]),
                    .rate = {.count = std::uint32_t(numbers[2]), .per = Duration(numbers[3])}};
    queue.pace.Set(queue.limits.rate, now_.steady);
}

// A claim that outlives its execution is written when it is made; an empty one deletes it.
void Engine::WriteClaim(const Text& key, const Claim& claim) {
    const std::string value =
        std::to_string(claim.until.time_since_epoch().count()) + " " + claim.execution.text().str();
    draft_.Set(
        SettingPut{KeyOf(kUniquePrefix, key), claim.execution.empty() ? Text() : Text(value)});
}

void Engine::RestoreClaim(const Text& key, std::string_view value) {
    const std::size_t space = value.find(' ');
    std::array<std::int64_t, 1> until{};
    if (space == std::string_view::npos || !ReadNumbers(value.substr(0, space), until)) return;
    const Time end{Duration(until[0])};
    claims_.insert_or_assign(key, Claim{ExecutionId(Text(value.substr(space + 1))), end, false});
    claim_ends_.emplace(end, key);
}

}  // namespace takt::internal
