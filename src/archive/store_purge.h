// Deletes what finished before a time, in bounded batches, while no scheduler is at work.
#pragma once

#include "store/store.h"

namespace takt::internal {

struct Purged {
    std::uint64_t executions = 0;  // Parts of runs included.
};

// Executions without a parent that finished before `before`, with their parts and logs, and events as
// old. kConflict while a scheduler leads: it purges by its own retention.
Result<Purged> PurgeStore(Store& store, Time before);

}  // namespace takt::internal
