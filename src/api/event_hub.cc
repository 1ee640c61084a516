#include "api/event_hub.h"

#include <algorithm>

namespace takt::internal {
namespace {

std::string Format(const Event& event) {
    std::string data;
    JsonWriter json(data);
    WriteEvent(json, event);
    return FormatEvent(
        {.event = Name(event.type), .data = data, .id = std::to_string(event.serial)});
}

}  // namespace

void WriteEvent(JsonWriter& json, const Event& event) {
    if (event.type == EventType::kAlert && event.detail.view().starts_with('{')) {
        // {"id":…} as the alerts wrote it, with what every event has.
        std::string rest = event.detail.str();
        rest.pop_back();
        rest += ",\"type\":\"alert\",\"at\":\"" + FormatTime(event.at) + "\"}";
        json.Raw(rest);
        return;
    }
    json.BeginObject();
    // As a text: JavaScript would round so large a number.
    json.Field("id", std::string_view(std::to_string(event.serial)));
    json.Field("type", Name(event.type)).Field("at", event.at);
    if (!event.task.empty()) json.Field("task_id", event.task.view());
    if (!event.execution.empty()) json.Field("execution_id", event.execution.view());
    if (!event.worker.empty()) json.Field("worker_id", event.worker.view());
    if (event.attempt > 0) json.Field("attempt", event.attempt);
    if (!event.detail.empty()) json.Field("detail", event.detail.view());
    json.EndObject();
}

bool EventFilter::Fits(const Event& event) const {
    return (types >> static_cast<unsigned>(event.type) & 1u) != 0 &&
           (task.empty() || task == event.task) && (worker.empty() || worker == event.worker);
}

std::optional<std::uint32_t> ParseEventTypes(std::string_view list) {
    std::uint32_t types = 0;
    for (;;) {
        const std::size_t comma = list.find(',');
        const std::string_view name = list.substr(0, comma);
        std::uint32_t named = 0;
        for (int i = 0; i < kEventTypeCount; ++i) {
            const std::string_view known = Name(static_cast<EventType>(i));
            if (known == name || known.substr(0, known.find('.')) == name) named |= 1u << i;
        }
        if (named == 0) return std::nullopt;
        types |= named;
        if (comma == list.npos) return types;
        list.remove_prefix(comma + 1);
    }
}

void EventHub::Release(const Effects& effects) {
    if (effects.events.empty()) return;
    const std::scoped_lock lock(mutex_);
    for (const Event& event : effects.events) {
        std::string text;
        for (auto& [number, watcher] : watchers_) {
            if (!watcher.filter.Fits(event)) continue;
            if (text.empty()) text = Format(event);
            // A watcher that is too slow is cut off by its stream and comes back with the last id
            // it saw; on_close takes it off the list.
            watcher.stream->WriteFormatted(text);
        }
        events_.push_back(event);
    }
    while (events_.size() > config_.events_max) {
        dropped_ = events_.front().serial;
        events_.pop_front();
    }
}

void EventHub::OnRole(Role role) {
    const std::scoped_lock lock(mutex_);
    const bool leads = role == Role::kLeader;
    if (leading_ && !leads) {
        for (auto& [number, watcher] : watchers_) watcher.stream->Close();
        // Others lead now; what they do is not seen here, so nothing older can be gone on from.
        events_.clear();
        dropped_ = 0;
    }
    leading_ = leads;
}

std::uint64_t EventHub::Watch(EventFilter filter, std::optional<Serial> last,
                              std::shared_ptr<EventStream> stream) {
    const std::scoped_lock lock(mutex_);
    if (watchers_.size() >= config_.watchers_max) return 0;
    Watcher watcher{std::move(filter), std::move(stream)};
    if (last) Replay(watcher, *last);
    watchers_.emplace(++last_number_, std::move(watcher));
    return last_number_;
}

void EventHub::Replay(const Watcher& watcher, Serial last) {
    const auto after = std::ranges::upper_bound(events_, last, {}, &Event::serial);
    // It can go on if the event it saw last is kept, or was the last one to be dropped: then all
    // that came after it is here.
    const bool known = (after != events_.begin() && std::prev(after)->serial == last) ||
                       (dropped_ != 0 && last == dropped_);
    if (!known) {
        const Serial now = events_.empty() ? 0 : events_.back().serial;
        watcher.stream->Write(
            {.event = "reset",
             .data = R"({"type":"reset","detail":"events were missed; read the state again"})",
             .id = std::to_string(now)});
        return;
    }
    for (auto event = after; event != events_.end(); ++event) {
        if (watcher.filter.Fits(*event)) watcher.stream->WriteFormatted(Format(*event));
    }
}

void EventHub::Unwatch(std::uint64_t number) {
    const std::scoped_lock lock(mutex_);
    watchers_.erase(number);
}

std::size_t EventHub::watchers() const {
    const std::scoped_lock lock(mutex_);
    return watchers_.size();
}

}  // namespace takt::internal
