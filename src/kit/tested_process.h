// TestedProcess: the program that is tested, as a process of its own.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/time.h"

namespace takt::internal::kit {

// From one thread.
class TestedProcess {
  public:
    // Runs a line of the shell's; what it prints goes to the file, or nowhere. kUnavailable.
    static Result<std::unique_ptr<TestedProcess>> Start(const std::string& command,
                                                        const std::string& output_file);
    // Kills it.
    ~TestedProcess();
    TestedProcess(const TestedProcess&) = delete;
    TestedProcess& operator=(const TestedProcess&) = delete;

    // Nothing once it has ended.
    void Signal(int number);
    // Stops all its threads, and returns when they stand still; SIGCONT lets it go on.
    void Pause();
    // Whether it has ended, after so long at most.
    bool AwaitEnd(Duration patience);

  private:
    explicit TestedProcess(pid_t process) : process_(process) {}

    const pid_t process_;
    bool ended_ = false;
};

}  // namespace takt::internal::kit
