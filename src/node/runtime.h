// Runtime: the clock, the thread and the timers of a node. In production an Asio event loop, in the
// simulator a queue of events in one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "base/time.h"

namespace takt::internal {

using Action = std::move_only_function<void()>;

class Runtime {
  public:
    virtual ~Runtime() = default;

    virtual Instant Now() = 0;

    // Runs `action` soon, on the node's one thread, after what was posted before it. May be called
    // from any thread.
    virtual void Post(Action action) = 0;

    // As Post, but at once if called on the node's thread.
    virtual void Dispatch(Action action) { Post(std::move(action)); }

    // Runs `action` on the node's thread once `delay` has passed, unless cancelled. Called on the
    // node's thread only. The returned number is never 0.
    virtual std::uint64_t After(Duration delay, Action action) = 0;

    // Cancelling what has run, or 0, does nothing.
    virtual void Cancel(std::uint64_t timer) = 0;
};

}  // namespace takt::internal
