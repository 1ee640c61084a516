// StoreCheck: reads everything and says what contradicts itself: rows that cannot be read, executions
// in the wrong place, parts without their whole, indexes that miss what a list shows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "archive/store_lock.h"
#include "archive/tally.h"
#include "archive/transfer.h"
#include "store/index_check.h"

namespace takt::internal {

struct StoreFault {
    Partition partition = 0;
    std::string text;  // One sentence: what is wrong with what.
    // The same when the fault is found again and its sentence has other numbers; empty: the text.
    std::string sign;
    // The way in which repair would mend it, a sentence and the change; nothing: people must.
    std::string remedy;
    std::optional<Change> mend;
    Serial last_serial = 0;  // The mend also raises the partition's last serial to this; 0: no.
    std::optional<IndexFault> index;  // Of an index that the store keeps itself, and mends itself.

    bool mendable() const { return mend.has_value() || last_serial > 0 || index.has_value(); }
};

struct StoreFaults {
    Tally rows;
    std::vector<StoreFault> faults;  // The first kFaultsMax; of indexes, kIndexFaultsMax.
    std::uint64_t count = 0;         // All of them.
};
constexpr std::size_t kFaultsMax = 1'000;
// A set that is gone has lost all its entries, and all are mended before rows can be judged.
constexpr std::size_t kIndexFaultsMax = 100'000;

// With a scheduler at work, what it moves meanwhile may look like a fault: those that are found are
// looked for again, and named if they are still there. Of a partition whose indexes are wrong only
// these are named: what is read by them cannot be trusted, so check again once they are mended. A
// partition whose indexes were wrong for a moment is looked at until its rows were read twice; if they
// cannot be, the faults of the last look are named.
Result<StoreFaults> CheckStore(Store& store, const TransferProgress& progress);

// Keeps schedulers out, checks, and commits what the remedies of the faults say. Those that were found
// beside a scheduler are not enough: by now it may have made some of them true. Returns what it found
// and mended. kConflict while a scheduler leads.
Result<StoreFaults> RepairStore(Store& store, const TransferProgress& progress);

}  // namespace takt::internal
