// ExecutionIndex: whether each execution stands in the sets by which it is found, and each member of
// those has its row. All calls block and come from a command's thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/redis/ended_list.h"
#include "store/redis/index_reader.h"

namespace takt::internal::redis {

// Whether the members of a set of this name are executions.
bool ListsExecutions(std::string_view name);

class ExecutionIndex {
  public:
    ExecutionIndex(IndexReader& reader, EndedList& ended) : reader_(reader), ended_(ended) {}

    // A fault is noted if it is there at a second look too: a scheduler may have moved rows meanwhile.
    Result<void> CheckRows(const PartitionKeys& keys, const std::vector<std::string>& ids) {
        return CheckRows(keys, ids, false);
    }
    Result<void> CheckMembers(const PartitionKeys& keys, const std::string& key);

  private:
    // Where an execution has to stand. Of one that has ended and has no parent `end` is its entry in
    // the list of retention, where it may stand instead.
    struct Place {
        std::string key;
        std::string member;
        std::string score = "0";
        std::string end = {};
    };
    using Places = std::vector<Place>;

    static Places PlacesOf(const PartitionKeys& keys, const Execution& row);

    Result<void> CheckRows(const PartitionKeys& keys, const std::vector<std::string>& ids,
                           bool again);
    Result<void> CheckPage(const PartitionKeys& keys, const std::string& key,
                           const std::vector<std::string>& members, bool again);

    IndexReader& reader_;
    EndedList& ended_;
};

}  // namespace takt::internal::redis
