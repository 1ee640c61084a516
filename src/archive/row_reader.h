// RowReader: every row of a partition, as the changes that would make it in an empty one.
//
// History comes first and what a leader acts on last, so that a copy which was cut off holds nothing
// that a scheduler would start.
#pragma once

#include <functional>
#include <vector>

#include "store/store.h"

namespace takt::internal {

// The place that a partition's next leader goes on from.
struct PartitionHead {
    Partition partition = 0;
    Serial last_serial = 0;
    std::uint64_t epoch = 0;
};

// An error ends the reading and is what it returns.
using RowSink = std::function<Result<void>(Change)>;

// The partitions that were ever led, and `default`, which comes last: the directory of namespaces is
// in it, so whoever passes partitions on in this order makes them known when all is there.
Result<std::vector<PartitionHead>> ReadHeads(Store& store);

// REQUIRES: nobody writes meanwhile (store_lock.h), or the store shows one moment
// (store/store_snapshot.h), else a row that moves may be missing or twice.
Result<void> ReadRows(Store& store, Partition partition, const RowSink& sink);

// The parts of it, for those who do not want all.
Result<void> ReadHistory(Store& store, Partition partition, bool brief, const RowSink& sink);
// Settings, workers, tasks, records, live executions.
Result<void> ReadLoaded(Store& store, Partition partition, const RowSink& sink);

}  // namespace takt::internal
