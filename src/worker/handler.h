// TaskHandler: what a worker uses to do the work, and the registry that finds the one for a task.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "worker/task_context.h"

namespace takt::internal {

class AttemptRun;

// Implementations are called from several threads at once.
class TaskHandler {
  public:
    virtual ~TaskHandler() = default;

    // Runs one attempt, on a thread of the worker's pool, and may take its time; see TaskContext
    // about being stopped. An exception counts as a failure with its text.
    virtual TaskResult Execute(TaskContext& context) = 0;

    // Whether attempts are begun by Begin, in place of Execute. Begin returns soon, and `run` is
    // finished then or later, on any thread: what waits takes no thread of the pool.
    virtual bool is_async() const { return false; }
    virtual void Begin(std::shared_ptr<AttemptRun> run) {}

    // The task type that it runs; "*" is every type that has no handler of its own.
    virtual std::string_view Type() const = 0;

    // How it does the work, shown to people: local, http, grpc, shell, or a name of your own.
    virtual std::string_view Protocol() const = 0;
};

using TaskFunction = std::function<TaskResult(TaskContext&)>;

// A C++ function.
class LocalTaskHandler final : public TaskHandler {
  public:
    LocalTaskHandler(std::string type, TaskFunction function)
        : type_(std::move(type)), function_(std::move(function)) {}

    TaskResult Execute(TaskContext& context) override { return function_(context); }
    std::string_view Type() const override { return type_; }
    std::string_view Protocol() const override { return "local"; }

  private:
    const std::string type_;
    const TaskFunction function_;
};

// Filled before the worker starts, then only read.
class HandlerRegistry {
  public:
    // kConflict if the type has one already; kInvalid for an empty type.
    Result<void> Add(std::shared_ptr<TaskHandler> handler);
    Result<void> AddFunction(std::string type, TaskFunction function);

    // Null if there is neither one for the type nor one for "*".
    TaskHandler* Find(std::string_view type) const;

    // The types to announce to the scheduler: sorted; empty if "*" is there, which is every type.
    std::vector<std::string> Types() const;
    bool empty() const { return handlers_.empty(); }

  private:
    std::map<std::string, std::shared_ptr<TaskHandler>, std::less<>> handlers_;
};

}  // namespace takt::internal
