// Signals that ask the process to end, as something to wait for.
#pragma once

#include <csignal>

namespace takt::internal::cli {

// Blocks SIGTERM and SIGINT in this thread and all threads that it makes; make it before any other.
class StopSignals {
  public:
    StopSignals() {
        sigemptyset(&set_);
        sigaddset(&set_, SIGTERM);
        sigaddset(&set_, SIGINT);
        pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    }

    // Waits for one of them.
    void Wait() const {
        int signal = 0;
        sigwait(&set_, &signal);
    }

  private:
    sigset_t set_;
};

}  // namespace takt::internal::cli
