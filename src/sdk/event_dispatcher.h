// EventDispatcher: brings events to the callbacks of the embedding program, on a thread of its own.
//
// Whoever tells of an event only appends to a bounded queue: a callback that blocks never stalls a
// scheduler. When the queue is full the oldest event is dropped and counted.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "takt/event.h"

namespace takt {

class EventDispatcher {
  public:
    explicit EventDispatcher(std::size_t events_max);
    // Like Stop.
    ~EventDispatcher();
    EventDispatcher(const EventDispatcher&) = delete;
    EventDispatcher& operator=(const EventDispatcher&) = delete;

    std::uint64_t Add(std::optional<EventType> type, EventCallback callback);
    void Remove(std::uint64_t number);
    std::uint64_t dropped() const;
    // Whether a callback asks.
    bool on_own_thread() const;

    void Start();
    // Waits this long for the callbacks of what is queued; what is left then is dropped, and a
    // callback that does not return is left to itself.
    void Stop(Duration patience);

    // From any thread. To those who want its type; kMissed to all.
    void Tell(Event event);
    // The same of the event that a scheduler gave this serial: one that was told already, or is older,
    // is not told again. It is made only if somebody wants it.
    void TellHeard(std::uint64_t serial, const std::function<Event()>& make);
    // The serial of the last one that was told by TellHeard; 0: none.
    std::uint64_t last_serial() const;
    bool wanted() const;  // Whether there are callbacks.

  private:
    struct Callback {
        std::optional<EventType> type;
        std::shared_ptr<const EventCallback> call;
    };
    // Shared with the thread, which may outlive the dispatcher in a callback that hangs.
    struct Shared {
        mutable std::mutex mutex;
        std::condition_variable changed;
        std::map<std::uint64_t, Callback> callbacks;  // In the order of their registration.
        std::deque<Event> events;
        std::uint64_t last_number = 0;
        std::uint64_t dropped = 0;
        std::uint64_t last_serial = 0;
        std::uint64_t run = 0;  // Of which thread is at work; another number tells it to end.
        bool ended = true;      // The thread has nothing more to do.
        bool stopping = false;
    };
    static void Run(const std::shared_ptr<Shared>& shared, std::uint64_t run);
    void Append(Event event);

    const std::size_t events_max_;
    const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
    std::thread thread_;
};

}  // namespace takt
