// ReadsManyLogs: of a store in which each question costs a round trip, and of whose logs a copy or a
// check would ask one by one.
#pragma once

#include <vector>

#include "store/store.h"

namespace takt::internal {

// The beginning of a log.
struct LogBeginning {
    std::vector<LogChunk> chunks;
    bool more = false;  // ReadLog has the rest.
};

class ReadsManyLogs {
  public:
    virtual ~ReadsManyLogs() = default;

    // In the order of `executions`; those that have no log have no chunks.
    virtual void ReadLogs(Partition partition, std::vector<ExecutionId> executions,
                          Done<std::vector<LogBeginning>> done) = 0;
};

}  // namespace takt::internal
