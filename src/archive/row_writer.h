// RowWriter: writes rows into the partitions of a store that were empty.
//
// Each batch also says how many rows of which source are in, as a setting of the partition that is
// taken away when all partitions are whole. So what was cut off is known, and goes on where it
// stopped if the same source is written again. That of `default` comes before all rows and goes after
// them: by it schedulers know that they must not serve the store.
//
// The history comes the newest first, and etcd purges what finished in a term in the order in which it
// was written: behind a day of it the next term begins.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "archive/row_target.h"
#include "archive/store_lock.h"
#include "store/unfinished_copy.h"

namespace takt::internal {

class RowWriter final : public RowTarget {
  public:
    // `source` names what the rows come from: equal names bring equal rows in the same order. The
    // store, locked, outlives it.
    RowWriter(Store& store, StoreLock& lock, std::string source);

    // Marks the store, before anything else is done to it. kConflict if `default` has rows and no mark.
    // REQUIRES: the lock holds `default`.
    Result<void> MarkStore();

    // kConflict if the partition has rows that are not of an unfinished copy of the same source.
    Result<void> Begin(const PartitionHead& head) override;
    Result<void> Add(Change change) override;
    Result<void> End() override;
    Result<void> Finish() override;

    // Rows that were there already, from a copy that was cut off.
    std::uint64_t resumed() const { return resumed_; }

  private:
    Result<void> Commit(Text mark);
    // Another term, if the history in `changes_` is a day older than the first of this one.
    Result<void> BeginDay();
    Text MarkOf(std::string_view rows) const;

    Store& store_;
    StoreLock& lock_;
    const std::string source_;
    const StoreLimits limits_;
    PartitionHead head_;
    std::vector<PartitionHead> begun_;
    std::map<Partition, std::uint64_t> sequences_;
    std::uint64_t written_ = 0;  // Rows of the partition that are in, skipped ones included.
    std::uint64_t skip_ = 0;     // Rows that are in already and come again.
    bool whole_ = false;         // All of the partition's are.
    std::uint64_t resumed_ = 0;
    Time day_{};  // Of the first of the history in this term; 0 before there is any.
    std::vector<Change> changes_;
    std::size_t bytes_ = 0;
};

}  // namespace takt::internal
