// CallThread: runs what programs have given as callbacks, in order, on one thread of its own; now or
// after a while. So a callback may block, and may ask the very object that calls it.
//
// The thread begins with the first callback.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "takt/time.h"

namespace takt {

class CallThread {
  public:
    using Action = std::move_only_function<void()>;

    CallThread() = default;
    CallThread(const CallThread&) = delete;
    CallThread& operator=(const CallThread&) = delete;
    // Like Stop, without patience.
    ~CallThread();

    // From any thread. What comes after Stop begins a thread again.
    void Post(Action action) { After(Duration(0), std::move(action)); }
    void After(Duration delay, Action action);

    // Runs everything now, whatever it should have waited for, and ends the thread. A callback that
    // has not returned after `patience` is left to itself, and what stands behind it is dropped. From
    // a callback: does not wait.
    void Stop(Duration patience);

    bool on_own_thread() const;

  private:
    using Clock = std::chrono::steady_clock;
    // Shared with the thread, which may outlive this in a callback that hangs.
    struct Shared {
        std::mutex mutex;
        std::condition_variable changed;
        std::multimap<Clock::time_point, Action> actions;  // Those of one time in their order.
        bool stopping = false;
        bool ended = false;
        bool left = false;  // Nobody waits for this thread any more.
    };
    void Begin();
    static void Run(const std::shared_ptr<Shared>& shared);

    mutable std::mutex mutex_;        // Of what follows.
    std::shared_ptr<Shared> shared_;  // Null: there is no thread.
    std::thread thread_;
};

}  // namespace takt
