// StoreStats: what is in a store, partition by partition.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "archive/tally.h"
#include "archive/transfer.h"

namespace takt::internal {

struct PartitionStats {
    Partition partition = 0;
    std::string name;  // Of the namespace; empty if the directory does not have it.
    Tally rows;
    Time oldest_finished{};  // 0: nothing has finished.
    Time newest_finished{};
    std::uint64_t runs = 0;  // Of the finished ones, those that are no part of another.
    // How many executions finished in each of the last seven days before `at`, the last one first, and
    // their bytes: what the store grows by.
    std::array<Tally::Part, 7> days{};

    // In a day, from what finished in the last seven or since the oldest; nothing if that is less
    // than an hour ago, or nothing has finished.
    std::optional<Tally::Part> Daily(Time at) const;
};

struct StoreStats {
    Time at{};
    std::vector<PartitionStats> partitions;
};

// Reads all rows. A scheduler may be at work; what it moves meanwhile may be counted twice or not.
Result<StoreStats> ReadStats(Store& store, Time at, const TransferProgress& progress);

// The names of partitions, from the directory.
Result<std::vector<std::string>> ReadNames(Store& store);

}  // namespace takt::internal
