// Circles among tasks as they would be after a plan, before anything is written.
#pragma once

#include <vector>

#include "base/error.h"
#include "definitions/plan.h"

namespace takt::internal {

struct TaskCircle {
    ThingKey key;
    Error mistake;  // Its field is the step's.
};

// Tasks that files define and whose runs would come to run them again, by tasks that files define or
// that stand.
std::vector<TaskCircle> FindTaskCircles(const PlanInput& input);

}  // namespace takt::internal
