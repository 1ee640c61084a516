// ShellTaskHandler: runs tasks as processes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "worker/handler.h"

namespace takt::internal {

struct ShellHandlerOptions {
    // All who may submit a task may then run programs as this worker's user. Without, none works.
    bool allow_shell = false;
    std::string type = "shell";
    // The program and its arguments; the payload goes to its standard input. Empty: the payload
    // names them, {"argv": ["ls", "-l"]} or, for a shell to read, {"command": "ls | wc -l"}.
    std::vector<std::string> argv;
    // Names of variables that its processes get from this one's environment, beside PATH, HOME,
    // USER, LANG, LC_*, TZ and TMPDIR. Not all: a worker's has its token, and often other secrets.
    std::vector<std::string> env;
    Duration kill_grace{2'000};  // From SIGTERM to SIGKILL.
    // A process that writes faster than its output can be sent waits for that, but not longer than
    // this while nothing can be sent: work goes on without a scheduler.
    Duration log_patience{5'000};
};

// Exit status 0 is success, any other a failure with that code, a signal's death one with 128 plus
// its number. Both outputs go to the execution's log, all of them: the scheduler says how much it
// keeps, and counts the rest. The process has a group of its own, which is
// killed when the attempt is to stop. In its environment, beside what `env` says:
// TAKT_EXECUTION_ID, TAKT_TASK_ID, TAKT_TYPE, TAKT_ATTEMPT, TAKT_EPOCH, TRACEPARENT, TRACESTATE.
// A machine that has no process or descriptor to spare fails the attempt, which may be retried.
class ShellTaskHandler final : public TaskHandler {
  public:
    // kInvalid unless allow_shell is set, and for what cannot be a variable's name. The environment
    // is read once, here.
    static Result<std::shared_ptr<ShellTaskHandler>> Create(ShellHandlerOptions options);

    TaskResult Execute(TaskContext& context) override;
    std::string_view Type() const override { return options_.type; }
    std::string_view Protocol() const override { return "shell"; }

  private:
    explicit ShellTaskHandler(ShellHandlerOptions options);

    const ShellHandlerOptions options_;
    const std::vector<std::string> inherited_;  // NAME=value
};

}  // namespace takt::internal
