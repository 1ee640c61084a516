// An attempt by hand, for tests of handlers.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "worker/handler.h"
#include "worker/task_context.h"

namespace takt::internal::testing_support {

// The orders that the worker would follow for an attempt.
class Attempt final : public TaskReporter {
  public:
    explicit Attempt(std::string payload = {}, std::string type = "t") {
        task.execution_id = "e-1";
        task.task_id = "task-1";
        task.task_name = "Task";
        task.type = std::move(type);
        task.attempt = 2;
        task.epoch = 7;
        task.payload = std::move(payload);
        task.metadata = {{"a \"b\"", "c"}};
        task.traceparent = "00-trace-01";
    }
    TaskResult Run(TaskHandler& handler, std::optional<Duration> timeout = {}) {
        std::optional<Steady> deadline;
        if (timeout) deadline = SteadyClock::now() + *timeout;
        TaskContext context(task, *this, stop.get_token(), deadline);
        return handler.Execute(context);
    }
    void OnProgress(double fraction, std::string_view) override { progress = fraction; }
    void OnLog(std::string_view line) override {
        lines.emplace_back(line);
        if (on_line) on_line(line);
    }
    bool HasLogRoom() const override { return !has_room || has_room(); }
    StopReason stop_reason() const override { return StopReason::kNone; }

    AssignedTask task;
    std::stop_source stop;
    std::vector<std::string> lines;
    std::function<void(std::string_view)> on_line;
    std::function<bool()> has_room;  // Empty: always.
    double progress = 0;
};

}  // namespace takt::internal::testing_support
