// Equal workflows are one: those who read the same steps again, from a request or from a row, are given
// what somebody holds already.
#pragma once

#include "model/workflow.h"

namespace takt::internal {

// `made`, or an equal one that is held. Safe from any thread.
WorkflowPtr ShareWorkflow(const WorkflowPtr& made);

}  // namespace takt::internal
