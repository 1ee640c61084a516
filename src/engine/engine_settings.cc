// Settings: what an operator said that the next leader must know too.
#include <string_view>
#include <utility>

#include "engine/engine.h"

namespace takt::internal {

// Keys that nobody here knows are other people's.
void Engine::RestoreSetting(const Text& key, const Text& value) {
    const std::string_view name = key;
    if (RestoreLimit(name, value)) return;
    if (name.starts_with(Locks::kPrefix)) {
        locks_.RestoreSize(name.substr(Locks::kPrefix.size()), value);
    } else if (name == Chooser::kKey) {
        chooser_.Restore(value);
    } else if (name.starts_with(Claims::kPrefix) && !config_.sabotage.forget_keys_on_load) {
        claims_.Restore(name.substr(Claims::kPrefix.size()), value);
    }
}

void Engine::On(SetSetting& set) {
    draft_.Set({std::move(set.key), std::move(set.value)});
    draft_.Reply(set.request, Answer{});
}

void Engine::On(PostAlert& alert) {
    draft_.Set({std::move(alert.key), std::move(alert.value)});
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

}  // namespace takt::internal
