// EventFollower: brings the events of a scheduler in another process to callbacks, over its event
// stream; goes on after broken connections and changes of leader, and says when something was missed.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "remote/async_remote.h"
#include "sdk/call_thread.h"
#include "sdk/event_dispatcher.h"

namespace takt {

class EventFollower {
  public:
    // Does nothing before the first Add.
    explicit EventFollower(internal::RemoteOptions options);
    // No callback comes after it, but for one that hangs.
    ~EventFollower();
    EventFollower(const EventFollower&) = delete;
    EventFollower& operator=(const EventFollower&) = delete;

    std::uint64_t Add(std::optional<EventType> type, EventCallback callback);
    void Remove(std::uint64_t number) { events_.Remove(number); }
    std::uint64_t dropped() const { return events_.dropped(); }

  private:
    class Reader;

    void Begin();
    void Listen();
    void OnEnded(const internal::Result<internal::HttpAnswer>& ended);

    const internal::RemoteOptions options_;
    EventDispatcher events_;
    const std::shared_ptr<Reader> reader_;
    std::once_flag begun_;

    std::mutex mutex_;                               // Of what follows.
    std::unique_ptr<internal::AsyncRemote> remote_;  // Null before the first Add, and at the end.
    Duration pause_;
    std::string trouble_;  // As it was said last.
    CallThread timers_;    // Listens again.
};

}  // namespace takt
