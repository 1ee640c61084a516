// LeaderEvents: brings the events of the leader to the callbacks of a scheduler that follows.
//
// It watches the event stream of its own server, which passes it on to whoever leads; inside the
// process, so that neither ports nor certificates matter. While this node leads, the dispatcher hears
// from the node itself, and this does nothing.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "http/message.h"
#include "node/node.h"
#include "sdk/call_thread.h"
#include "sdk/event_dispatcher.h"

namespace takt {

class LeaderEvents : public std::enable_shared_from_this<LeaderEvents> {
  public:
    // Asks the server for its stream from the event of this serial on (0: from now on). False: it does
    // not run.
    using Ask = std::function<bool(std::uint64_t last, internal::HttpReply reply)>;

    LeaderEvents(EventDispatcher& to, CallThread& timers, Ask ask)
        : to_(to), timers_(timers), ask_(std::move(ask)) {}

    // From any thread.
    void OnRole(internal::Role role);
    // Somebody wants events now.
    void OnWanted();
    // Nothing is told or asked after it. Again: nothing.
    void Stop();
    void Start();

  private:
    class Stream;

    void Listen();
    void OnAnswer(internal::HttpResponse response);
    void OnEnded();

    EventDispatcher& to_;
    CallThread& timers_;
    const Ask ask_;

    std::mutex mutex_;  // Of what follows.
    bool running_ = false;
    bool following_ = false;
    bool listening_ = false;  // Asked, and not ended.
    bool heard_ = false;      // Was there ever a stream, as a follower?
    Duration pause_;
};

}  // namespace takt
