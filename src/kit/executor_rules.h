// The rules of docs/executors.md that an HTTP executor keeps, each with its test.
//
// Plays the scheduler: gives orders, and listens for callbacks on two ports, as two schedulers do.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "kit/report.h"

namespace takt::internal::kit {

struct ExecutorKitOptions {
    std::string url;                 // Of the executor; /execute is added.
    std::string health_url;          // Empty: /health of the same.
    std::string task;                // A type that succeeds within `patience`.
    std::string fail;                // One that fails; empty: not tested.
    std::string parameters = "{}";   // Of the tasks, JSON.
    std::string host = "127.0.0.1";  // Where callbacks come in, as the executor can reach it.
    Duration patience{15'000};       // For the end of a task.
};

// kInvalid for options that cannot be, kUnavailable if nobody is at the URL.
Result<std::vector<RuleReport>> TestExecutor(
    const ExecutorKitOptions& options, const std::function<void(const RuleReport&)>& on_report);

}  // namespace takt::internal::kit
