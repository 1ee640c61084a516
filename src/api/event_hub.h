// EventHub: shows what happens to who watches, as it happens.
//
// Keeps the last events in memory, so that a watcher whose connection broke goes on where it was.
// If what it missed is not there any more, it is told so by an event `reset`.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/end_watch.h"
#include "base/json.h"
#include "http/event_stream.h"
#include "http/message.h"
#include "model/event.h"
#include "node/sink.h"

namespace takt::internal {

// `space` is the namespace that it is of.
void WriteEvent(JsonWriter& json, const Event& event, std::string_view space);

// Filters combine with AND; an empty one does not filter.
struct EventFilter {
    std::uint32_t types = ~0u;  // Bits by EventType.
    TaskId task;
    ExecutionId run;  // Itself, and all executions in it.
    WorkerId worker;

    bool Fits(const Event& event) const;
};

// "task.failed,worker" and so on: names of types, or of their groups. Nothing if one is unknown.
std::optional<std::uint32_t> ParseEventTypes(std::string_view list);

// The last event that a client saw before its connection broke: from the header that browsers send,
// or from the query `last_event_id`. A number that is none of ours is 0.
std::optional<Serial> LastEventSeen(const HttpRequest& request);

class EventHub final : public Sink {
  public:
    struct Config {
        std::size_t events_max = 10'000;    // Kept; some 150 bytes each.
        std::string space = "default";      // The namespace that events name.
        std::size_t watchers_max = 10'000;  // Each costs a comparison per event.
    };

    explicit EventHub(Config config) : config_(config) {}
    EventHub() : EventHub(Config{}) {}

    // Sink. On the node's thread.
    void Release(const Effects& effects) override;
    // A node that does not lead sees no events: its watchers are sent away, to the leader.
    void OnRole(Role role) override;

    // From any thread. Writes what came after `last` (if given), then everything new, until the
    // stream ends. The number is for Unwatch; 0 if this node does not lead or has too many watchers
    // already.
    std::uint64_t Watch(EventFilter filter, std::optional<Serial> last,
                        std::shared_ptr<EventStream> stream);
    // The same, but first the newest that are kept, at most kPastMax of those that fit the filter.
    std::uint64_t WatchPast(EventFilter filter, std::shared_ptr<EventStream> stream);
    void Unwatch(std::uint64_t number);

    // They fit the buffer of a stream.
    static constexpr std::size_t kPastMax = 500;

    std::size_t watchers() const;

    // For who waits for nothing but the end of an execution.
    EndWatch& ends() { return ends_; }

    // From any thread. Calls `notify` when the store may have more of the execution: it wrote
    // something or changed, or what it wrote has been committed since. And when this node stops
    // leading. `notify` is called on the node's thread and must not call back. The number is for
    // NoteOutputFound and Unfollow; 0 if this node does not lead or too many follow already.
    using Notify = std::function<void(bool leading)>;
    std::uint64_t Follow(const ExecutionId& execution, Notify notify);
    // The follower has found the output up to `index` in the store.
    void NoteOutputFound(std::uint64_t number, Serial index);
    void Unfollow(std::uint64_t number);

  private:
    struct Watcher {
        EventFilter filter;
        std::shared_ptr<EventStream> stream;
    };

    struct Follower {
        Text execution;
        Notify notify;
        Steady fresh_until;  // What was written before it came may not be committed until then.
        Serial told = 0;     // Output that it was told of,
        Serial settled = 0;  // and that it has found.
        bool news = false;   // While effects are being looked through.
    };

    std::uint64_t Admit(Watcher watcher);
    void Replay(const Watcher& watcher, Serial last);
    void NotifyFollowers(const Effects& effects);

    const Config config_;
    mutable std::mutex mutex_;
    std::deque<Event> events_;
    Serial dropped_ = 0;  // The last event that is not kept any more.
    std::map<std::uint64_t, Watcher> watchers_;
    std::map<std::uint64_t, Follower> followers_;  // By number.
    std::multimap<Text, Follower*> followers_of_;  // By execution.
    std::uint64_t last_number_ = 0;
    bool leading_ = false;
    EndWatch ends_;
};

}  // namespace takt::internal
