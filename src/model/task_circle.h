// Circles of tasks: a run whose steps come to run its own task again would never end.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/task.h"

namespace takt::internal {

// A step that runs another task.
struct NamingStep {
    std::size_t number = 0;  // Among all steps of its task.
    std::string name;
    std::string named;  // The id of that task.
};
std::vector<NamingStep> NamingStepsOf(const Task& task);

// The steps of a task, by its id; none if there is no such task.
using FindNamingSteps = std::function<std::vector<NamingStep>(const std::string& task)>;

// kInvalid, with the step as its field, if a run of `task` would come to run that task again. One
// walk for all steps: each task is looked at once.
Result<void> CheckCircle(const std::string& task, const FindNamingSteps& find);

}  // namespace takt::internal
