// Signals as calls, on a thread of their own.
#pragma once

#include <csignal>
#include <functional>
#include <thread>

#include "base/log.h"

namespace takt::internal::cli {

// Blocks SIGTERM, SIGINT and SIGHUP in this thread and all threads that it makes; make it before
// any other. What comes before somebody watches is kept.
class BlockedSignals {
  public:
    BlockedSignals();

    const sigset_t& set() const { return set_; }

  private:
    sigset_t set_;
};

// Calls back for each signal, one at a time, until it is destroyed; what it calls may be gone
// afterwards.
class SignalWatch {
  public:
    struct Calls {
        std::function<void()> stop;    // The first SIGTERM or SIGINT.
        std::function<void()> hurry;   // Each one after that.
        std::function<void()> reopen;  // SIGHUP: log files have been moved away.
    };

    SignalWatch(const BlockedSignals& blocked, Calls calls);
    // Not from within a call.
    ~SignalWatch();
    SignalWatch(const SignalWatch&) = delete;
    SignalWatch& operator=(const SignalWatch&) = delete;

  private:
    const BlockedSignals& blocked_;
    const Calls calls_;
    std::jthread thread_;
};

// The answer to SIGHUP: opens the log file anew under its name. Goes on with the old one, and says
// so, if that cannot be. Does nothing while the log goes to standard error.
void ReopenLog(const LogOptions& options);

}  // namespace takt::internal::cli
