// ChecksIndexes: of a store whose indexes are rows of its own, which nobody but itself keeps true.
#pragma once

#include <string>
#include <vector>

#include "store/store.h"

namespace takt::internal {

// One entry that is missing from an index, or stands there without reason. How it is mended only the
// store can read.
struct IndexFault {
    enum class Mend : std::uint8_t { kAdd, kRemove };

    Partition partition = 0;
    std::string text;  // One sentence: what is wrong with what.
    Mend mend = Mend::kAdd;
    std::string index;  // Its name in the store.
    std::string entry;
    std::string order;  // The entry's place in it; empty where there is none.
};

class ChecksIndexes {
  public:
    virtual ~ChecksIndexes() = default;

    // Both ways: each row against the indexes that it belongs to, each entry against its row. What
    // changes while it reads is looked at twice. Blocks, and reads everything.
    virtual Result<std::vector<IndexFault>> CheckIndexes(
        const std::vector<Partition>& partitions) = 0;

    // Adds and removes what the faults say, of the term's partition. kFenced if that has ended.
    virtual Result<void> MendIndexes(const Term& term, const std::vector<IndexFault>& faults) = 0;
};

}  // namespace takt::internal
