// The meaning of a filter of executions; the same for every backend.
#pragma once

#include <algorithm>

#include "store/store.h"

namespace takt::internal {

// Whether a row of the filter's partition passes the filter, its cursor included.
inline bool Matches(const ExecutionFilter& filter, const Execution& row) {
    const bool status = filter.statuses.empty() ||
                        std::ranges::find(filter.statuses, row.status) != filter.statuses.end();
    const bool place =
        filter.parent ? row.parent == *filter.parent : filter.children || row.parent.empty();
    return status && place && (!filter.task || row.task->id == *filter.task) &&
           (!filter.worker || row.worker == *filter.worker) &&
           (!filter.type || row.task->type == *filter.type) &&
           (!filter.queue || row.task->queue == *filter.queue) &&
           (filter.created_from == Time{} || row.serial >= SerialAt(filter.created_from)) &&
           (filter.created_to == Time{} || row.serial < SerialAt(filter.created_to)) &&
           (filter.before == 0 || row.serial < filter.before);
}

}  // namespace takt::internal
