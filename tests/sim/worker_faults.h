// Faults of workers, and what operators do with them.
#pragma once

#include "sim/space.h"
#include "sim/store_faults.h"

namespace takt::internal::sim {

// `faulty`: whether the heal is still to come, now and later.
void WorkerFault(Space& space, SimWorker& worker, const bool& faulty,
                 const StoreFaults::Later& later);
void LinkFault(Cluster& cluster, const SimWorker& worker);

}  // namespace takt::internal::sim
