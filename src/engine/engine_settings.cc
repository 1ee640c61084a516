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
constexpr std::string_view kQueuePrefix = "queue/";

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
    if (name == Chooser::kKey) {
        chooser_.Restore(value);
    } else if (name.starts_with(kQueuePrefix)) {
        RestoreQueue(Text(name.substr(kQueuePrefix.size())), value);
    } else if (name.starts_with(Claims::kPrefix) && !config_.sabotage.forget_keys_on_load) {
        claims_.Restore(name.substr(Claims::kPrefix.size()), value);
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
        chooser_.Reset();
        return draft_.Reply(set.request, Answer{});
    }
    auto value = chooser_.SetStrategy(set.strategy, set.name);
    if (!value) return draft_.Reply(set.request, std::unexpected(std::move(value.error())));
    draft_.Set({Text(Chooser::kKey), std::move(*value)});
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
    StartFromQueue(queue);
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

}  // namespace takt::internal
