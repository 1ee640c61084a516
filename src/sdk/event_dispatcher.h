// EventDispatcher: brings events to the callbacks of the embedding program, on a thread of its own.
//
// The node's thread only appends to a bounded queue: a callback that blocks never stalls the
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

#include "node/sink.h"
#include "takt/event.h"

namespace takt {

class EventDispatcher final : public internal::Sink {
  public:
    explicit EventDispatcher(std::size_t events_max);
    // Like Stop.
    ~EventDispatcher() override;

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
    // The same of an event that another scheduler told of: one that was told already, or is older, is
    // not told again.
    void TellHeard(Event event);
    // The serial of the last one that was told by either of these but Tell; 0: none.
    std::uint64_t last_serial() const;
    bool wanted() const;  // Whether there are callbacks.

    // Called on the node's thread when its role changes. Before Start.
    void SetOnRole(std::function<void(internal::Role)> on_role) { on_role_ = std::move(on_role); }

    // Sink. On the node's thread.
    void Release(const internal::Effects& effects) override;
    void OnRole(internal::Role role) override {
        if (on_role_) on_role_(role);
    }

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
    std::function<void(internal::Role)> on_role_;
};

}  // namespace takt
