// EndedList: the list `ended` of a partition, by which the retention goes, for the checks of indexes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "store/redis/index_reader.h"

namespace takt::internal::redis {

constexpr const char* kEnded = "ended";

class EndedList {
  public:
    explicit EndedList(IndexReader& reader) : reader_(reader) {}

    // Whether it has this entry (EndedText). Read once, until Forget.
    Result<bool> Contains(const PartitionKeys& keys, const std::string& entry);
    void Forget(const PartitionKeys& keys) { read_.erase(keys.partition); }

    // Each entry against its row. The end before a re-drive stays in the list until it is its turn, so
    // that the row may live again or have ended at another time.
    Result<void> Check(const PartitionKeys& keys);

  private:
    // Of each entry its place, counted back from the end of the list: -1 is the newest.
    using Places = std::map<std::string, std::int64_t>;

    Result<Places> Read(const PartitionKeys& keys);
    // The entries that cannot be read or have no row.
    Result<std::vector<std::string>> Doubt(const PartitionKeys& keys, const Places& places);

    IndexReader& reader_;
    std::map<Partition, Places> read_;
};

}  // namespace takt::internal::redis
