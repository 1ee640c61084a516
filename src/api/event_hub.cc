#include "api/event_hub.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include "model/event_types.h"
#include "model/run_progress.h"

namespace takt::internal {
namespace {

// Twice as long as the node keeps changes back that are not urgent.
constexpr Duration kLazyMax{2'000};

std::string Format(const Event& event, std::string_view space) {
    std::string data;
    JsonWriter json(data);
    WriteEvent(json, event, space);
    return FormatEvent(
        {.event = Name(event.type), .data = data, .id = std::to_string(event.serial)});
}

// Ids of what a run consists of begin with its own: the children of a backfill alone do not.
bool IsOfRun(const ExecutionId& id, const ExecutionId& run) {
    if (id == run) return true;
    const std::string_view name = id.view();
    return name.size() > run.view().size() && name.starts_with(run.view()) &&
           name[run.view().size()] == '~' && IsChildId(name);
}

}  // namespace

void WriteEvent(JsonWriter& json, const Event& event, std::string_view space) {
    if (event.type == EventType::kAlert && event.detail.view().starts_with('{')) {
        // {"id":…} as the alerts wrote it, with what every event has.
        std::string rest = event.detail.str();
        rest.pop_back();
        rest += ",\"type\":\"alert\",\"namespace\":\"" + std::string(space) + "\",\"at\":\"" +
                FormatTime(event.at) + "\"}";
        json.Raw(rest);
        return;
    }
    json.BeginObject();
    // As a text: JavaScript would round so large a number.
    json.Field("id", std::string_view(std::to_string(event.serial)));
    json.Field("type", Name(event.type)).Field("namespace", space).Field("at", event.at);
    if (!event.task.empty()) json.Field("task_id", event.task.view());
    if (!event.execution.empty()) json.Field("execution_id", event.execution.view());
    if (!event.worker.empty()) json.Field("worker_id", event.worker.view());
    if (event.attempt > 0) json.Field("attempt", event.attempt);
    if (!event.detail.empty()) json.Field("detail", event.detail.view());
    json.EndObject();
}

bool EventFilter::Fits(const Event& event) const {
    return (types >> static_cast<unsigned>(event.type) & 1u) != 0 &&
           (task.empty() || task == event.task) && (run.empty() || IsOfRun(event.execution, run)) &&
           (worker.empty() || worker == event.worker);
}

std::optional<std::uint32_t> ParseEventTypes(std::string_view list) {
    std::uint32_t types = 0;
    for (;;) {
        const std::size_t comma = list.find(',');
        const std::uint32_t named = EventTypesNamed(list.substr(0, comma));
        if (named == 0) return std::nullopt;
        types |= named;
        if (comma == list.npos) return types;
        list.remove_prefix(comma + 1);
    }
}

std::optional<Serial> LastEventSeen(const HttpRequest& request) {
    std::string text(request.headers.Find("Last-Event-ID").value_or(""));
    if (text.empty()) text = request.Query("last_event_id").value_or("");
    if (text.empty()) return std::nullopt;
    Serial serial = 0;
    std::from_chars(text.data(), text.data() + text.size(), serial);
    return serial;
}

void EventHub::Release(const Effects& effects) {
    ends_.Release(effects);
    const std::scoped_lock lock(mutex_);
    if (!followers_.empty()) NotifyFollowers(effects);
    // Mostly nobody watches, and the events need not be looked at.
    const std::size_t told = watchers_.empty() ? 0 : effects.events.size();
    for (const Event& event : std::span(effects.events).first(told)) {
        std::string text;
        for (auto& [number, watcher] : watchers_) {
            if (!watcher.filter.Fits(event)) continue;
            if (text.empty()) text = Format(event, config_.space);
            // A watcher that is too slow is cut off by its stream and comes back with the last id
            // it saw; on_close takes it off the list.
            watcher.stream->WriteFormatted(text);
        }
    }
    const std::vector<Event>& events = effects.events;
    const std::size_t kept = std::min(events.size(), config_.events_max);
    const std::size_t passed = events.size() - kept;
    while (events_.size() + kept > config_.events_max) {
        dropped_ = events_.front().serial;
        events_.pop_front();
    }
    if (passed > 0) dropped_ = events[passed - 1].serial;
    events_.insert(events_.end(), events.begin() + static_cast<std::ptrdiff_t>(passed),
                   events.end());
}

void EventHub::OnRole(Role role) {
    ends_.OnLead(role == Role::kLeader);
    const std::scoped_lock lock(mutex_);
    const bool leads = role == Role::kLeader;
    if (leading_ && !leads) {
        for (auto& [number, watcher] : watchers_) watcher.stream->Close();
        for (auto& [number, follower] : followers_) follower.notify(false);
        // Others lead now; what they do is not seen here, so nothing older can be gone on from.
        events_.clear();
        dropped_ = 0;
    }
    leading_ = leads;
}

std::uint64_t EventHub::Watch(EventFilter filter, std::optional<Serial> last,
                              std::shared_ptr<EventStream> stream) {
    const std::scoped_lock lock(mutex_);
    // The lead may have been lost since the caller looked: nobody would send this watcher away.
    if (!leading_ || watchers_.size() >= config_.watchers_max) return 0;
    Watcher watcher{std::move(filter), std::move(stream)};
    if (last) Replay(watcher, *last);
    return Admit(std::move(watcher));
}

std::uint64_t EventHub::WatchPast(EventFilter filter, std::shared_ptr<EventStream> stream) {
    const std::scoped_lock lock(mutex_);
    if (!leading_ || watchers_.size() >= config_.watchers_max) return 0;
    Watcher watcher{std::move(filter), std::move(stream)};
    std::vector<const Event*> past;
    for (auto event = events_.rbegin(); event != events_.rend() && past.size() < kPastMax;
         ++event) {
        if (watcher.filter.Fits(*event)) past.push_back(&*event);
    }
    for (auto event = past.rbegin(); event != past.rend(); ++event) {
        watcher.stream->WriteFormatted(Format(**event, config_.space));
    }
    return Admit(std::move(watcher));
}

// REQUIRES: mutex_ is held.
std::uint64_t EventHub::Admit(Watcher watcher) {
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
        // That there is another leader now is not in the state that a watcher reads again.
        for (auto event = after; event != events_.end(); ++event) {
            if (event->type == EventType::kLeaderChanged && watcher.filter.Fits(*event)) {
                watcher.stream->WriteFormatted(Format(*event, config_.space));
            }
        }
        const Serial now = events_.empty() ? 0 : events_.back().serial;
        watcher.stream->Write(
            {.event = "reset",
             .data = R"({"type":"reset","detail":"events were missed; read the state again"})",
             .id = std::to_string(now)});
        return;
    }
    for (auto event = after; event != events_.end(); ++event) {
        if (watcher.filter.Fits(*event))
            watcher.stream->WriteFormatted(Format(*event, config_.space));
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

// --- Who follows one execution ------------------------------------------------------------------

std::uint64_t EventHub::Follow(const ExecutionId& execution, Notify notify) {
    const std::scoped_lock lock(mutex_);
    if (!leading_ || followers_.size() >= config_.watchers_max) return 0;
    Follower& follower = followers_[++last_number_];
    follower.execution = execution.text();
    follower.notify = std::move(notify);
    follower.fresh_until = SteadyClock::now() + kLazyMax;
    followers_of_.emplace(follower.execution, &follower);
    return last_number_;
}

void EventHub::NoteOutputFound(std::uint64_t number, Serial index) {
    const std::scoped_lock lock(mutex_);
    const auto found = followers_.find(number);
    if (found != followers_.end()) found->second.settled = index;
}

void EventHub::Unfollow(std::uint64_t number) {
    const std::scoped_lock lock(mutex_);
    const auto found = followers_.find(number);
    if (found == followers_.end()) return;
    auto [first, last] = followers_of_.equal_range(found->second.execution);
    while (first != last && first->second != &found->second) ++first;
    if (first != last) followers_of_.erase(first);
    followers_.erase(found);
}

// Output is released before it is committed: nobody waits for it. So whoever was told of some is
// told again with each release until it has found it. REQUIRES: mutex_ is held.
void EventHub::NotifyFollowers(const Effects& effects) {
    const auto each = [&](const ExecutionId& execution, auto tell) {
        const auto [first, last] = followers_of_.equal_range(execution.text());
        for (auto entry = first; entry != last; ++entry) {
            entry->second->news = true;
            tell(*entry->second);
        }
    };
    for (const LogChunk& chunk : effects.logs) {
        each(chunk.execution, [&](Follower& follower) { follower.told = chunk.index; });
    }
    for (const Event& event : effects.events) {
        if (!event.execution.empty()) each(event.execution, [](Follower&) {});
    }
    const Steady now = SteadyClock::now();
    for (auto& [number, follower] : followers_) {
        const bool news = std::exchange(follower.news, false) || now < follower.fresh_until ||
                          follower.settled < follower.told;
        if (news) follower.notify(true);
    }
}

}  // namespace takt::internal
