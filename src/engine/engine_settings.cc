// Settings: what an operator said that the next leader must know too.
#include <string_view>
#include <utility>

#include "base/failpoint.h"
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
    } else if (name.starts_with(Claims::kPrefix) && !TAKT_MUTANT("engine.forget_keys_on_load")) {
        claims_.Restore(name.substr(Claims::kPrefix.size()), value);
    } else if (name == TrustedClock::kRecordKey) {
        if (!TAKT_MUTANT("engine.forget_doubted_record")) clock_.Restore(value);
    } else if (name == TrustedClock::kSettledKey) {
        if (!TAKT_MUTANT("engine.forget_settled")) clock_.RestoreSettled(value);
    } else if (name.starts_with(Leftover::kPrefix)) {
        leftovers_.Restore(key, value);
    } else if (name.ends_with(kGuardSuffix)) {
        guards_[key] = value;
    }
}

void Engine::On(SetSetting& set) {
    if (set.by) draft_.Audit(set.by, set.by->change);
    draft_.Set({std::move(set.key), std::move(set.value)});
    draft_.Reply(set.request, Answer{});
}

void Engine::On(SwapSettings& swap) {
    Text& stands = guards_[swap.guard];
    if (stands != swap.expected) {
        return draft_.Reply(swap.request,
                            Fail(ErrorCode::kConflict, "somebody else changed it meanwhile"));
    }
    stands = swap.next;
    if (swap.by) draft_.Audit(swap.by, swap.by->change);
    draft_.Set({std::move(swap.guard), std::move(swap.next)});
    for (SettingPut& put : swap.puts) draft_.Set(std::move(put));
    draft_.Reply(swap.request, Answer{});
}

void Apply(const Configure& values, EngineConfig& config) {
    config.quotas = values.quotas;
    config.retention = values.retention;
    config.audit_retention = values.audit_retention;
    config.timeout = values.timeout;
    config.retry = values.retry;
    config.strategy = values.strategy;
    config.strategy_name = values.strategy_name;
    config.log_bytes_max = values.log_bytes_max;
}

void Engine::On(Configure& configure) {
    const bool configured = chooser_.strategy() == config_.strategy &&
                            chooser_.strategy_name() == config_.strategy_name;
    Apply(configure, config_);
    quotas_.Set(config_.quotas, now_.steady);
    outputs_.SetBound(config_);
    if (configured) chooser_.FollowConfig();
}

void Engine::On(PostAlert& alert) {
    draft_.Set({std::move(alert.key), std::move(alert.value)});
    draft_.Emit(Event{.type = EventType::kAlert,
                      .task = std::move(alert.task),
                      .worker = std::move(alert.worker),
                      .detail = std::move(alert.detail)});
    draft_.Reply(alert.request, Answer{});
}

void Engine::On(NoteRefusal& note) {
    draft_.Audit(note.entry);
    draft_.Reply(note.request, Answer{});
}

void Engine::On(SetStrategy& set) {
    const auto shown = [&] {
        std::string text(Name(chooser_.strategy()));
        if (!chooser_.strategy_name().empty()) text += ":" + chooser_.strategy_name().str();
        return FieldsDocument({{"strategy", text}});
    };
    if (set.reset) {
        if (set.by) draft_.Audit(set.by, {.target = {"strategy", "reset"}});
        chooser_.Reset();
        return draft_.Reply(set.request, Answer{});
    }
    AuditChange change{.target = {"strategy", "default"}};
    if (set.by) change.before = shown();
    auto value = chooser_.SetStrategy(set.strategy, set.name);
    if (!value) return draft_.Reply(set.request, std::unexpected(std::move(value.error())));
    draft_.Set({Text(Chooser::kKey), std::move(*value)});
    if (set.by) change.after = shown();
    draft_.Audit(set.by, std::move(change));
    draft_.Reply(set.request, Answer{});
}

}  // namespace takt::internal
