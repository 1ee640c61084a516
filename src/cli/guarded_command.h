// A program that runs while this process holds a lock.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace takt::internal::cli {

// Signals may be sent from any thread; Wait from one.
class GuardedCommand {
  public:
    // Runs the program, found by PATH, with these variables beside this process's own. kNotFound,
    // kInvalid if it cannot be run.
    static Result<std::unique_ptr<GuardedCommand>> Start(
        const std::vector<std::string>& command,
        const std::vector<std::pair<std::string, std::string>>& variables);
    ~GuardedCommand();

    // Nothing once it has ended.
    void Signal(int number);
    // Asks it to end, and kills it when it has not after `grace`. Returns at once.
    void Stop(Duration grace);

    // Until it has ended: its exit status, or 128 and the number of the signal that ended it.
    int Wait();

  private:
    explicit GuardedCommand(pid_t process) : process_(process) {}

    const pid_t process_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool ended_ = false;  // From when its number may be another's.
    std::jthread killer_;
};

}  // namespace takt::internal::cli
