// RowTarget: takes the rows of whole partitions, one partition after the other.
#pragma once

#include "archive/row_reader.h"

namespace takt::internal {

class RowTarget {
  public:
    virtual ~RowTarget() = default;

    // Rows that are added from now on belong to this partition.
    virtual Result<void> Begin(const PartitionHead& head) = 0;
    virtual Result<void> Add(Change change) = 0;
    // The partition is whole.
    virtual Result<void> End() = 0;
    // All partitions are.
    virtual Result<void> Finish() = 0;
};

}  // namespace takt::internal
