// HandlerPool: the threads that run handlers. Grown when needed, up to a bound; one whose handler
// does not end can be given up and replaced.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "worker/held.h"

namespace takt::internal {

// All methods from one thread, the network thread; none of them waits for a handler.
class HandlerPool {
  public:
    struct Bounds {
        std::size_t threads_max = 10;
        // Handlers given up that have not ended. Each is a thread and whatever it holds; beyond
        // this many, a handler that does not end keeps its place.
        std::size_t abandoned_max = 10;
    };

    // `run` is called on the pool's threads, also after the pool is gone if a handler was
    // abandoned.
    HandlerPool(Bounds bounds, std::function<void(const HeldPtr&)> run);

    // Ends idle threads. Those that still run a handler are left to themselves.
    ~HandlerPool();

    void Push(HeldPtr held);

    // Threads beyond lower bounds end their handlers, and then wait for work as the others do.
    void SetBounds(Bounds bounds);

    // Leaves the thread that runs `held` to itself. False if too many are.
    bool Abandon(const Held& held);

    // Requests the stop of `held` on a thread of its own: callbacks that handlers registered run
    // there, and may block.
    void RequestStop(std::stop_source stop);

    std::size_t abandoned() const;

  private:
    struct State;
    const std::shared_ptr<State> state_;
};

}  // namespace takt::internal
