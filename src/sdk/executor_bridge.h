// A user's executor as the worker runtime takes it.
#pragma once

#include <memory>

#include "takt/executor.h"
#include "worker/handler.h"

namespace takt {

std::shared_ptr<internal::TaskHandler> BridgeTo(std::shared_ptr<Executor> executor);

// For every type that has no executor of its own.
std::shared_ptr<Executor> ExecutorOf(std::shared_ptr<TaskProcessor> processor);

// A function of a user's that returns before its attempt ends, for us.
std::shared_ptr<internal::TaskHandler> BridgeTo(std::string type, AsyncTaskFunction function);

}  // namespace takt
