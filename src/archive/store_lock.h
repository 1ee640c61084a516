// StoreLock: keeps schedulers out of a store while a command reads all of it or writes to it.
//
// Leads every partition itself, so that a scheduler which starts meanwhile waits, and what is
// written is fenced like any other write. Ends with the object, or by itself some seconds after the
// process died.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "archive/row_reader.h"
#include "store/store.h"

namespace takt::internal {

class StoreLock {
  public:
    enum class For : std::uint8_t {
        kReading,  // Or changing what is there: the store is as good as before if that is cut off.
        kFilling,  // Of an empty one, which is worth nothing before its end; see unfinished_copy.h.
    };

    // The announcement of a command that was killed ends by itself; in some stores a little late.
    static constexpr Duration kPatience{25'000};

    // Leads these partitions, with epochs above those that the heads name. kConflict, naming it,
    // while a scheduler leads one of them. Another command's term is waited for: it may be all that
    // is left of one that was killed, and whether it lives cannot be seen.
    static Result<std::unique_ptr<StoreLock>> Take(Store& store,
                                                   const std::vector<PartitionHead>& heads,
                                                   For what = For::kReading,
                                                   Duration patience = kPatience);
    // Leads further ones, in the same way; those that it leads already are left as they are.
    Result<void> TakeMore(const std::vector<PartitionHead>& heads);
    // Leads one of them anew, in a term behind the one that it has; kConflict if somebody else has
    // led it since. After another error only this may be called for it, again.
    Result<void> LeadAnew(const PartitionHead& head);
    // kConflict if somebody else has led one of these partitions, or any other, since it was taken:
    // what was read meanwhile may be of several moments. A process that is held up for longer than
    // its announcement lasts notices it by this alone. REQUIRES: all ever led were taken.
    Result<void> Confirm() const;
    // The sentence for that, also for a write that was fenced.
    Error Lost() const;
    ~StoreLock();
    StoreLock(const StoreLock&) = delete;
    StoreLock& operator=(const StoreLock&) = delete;

    bool Holds(const std::vector<PartitionHead>& heads) const {
        return std::ranges::all_of(
            heads, [&](const PartitionHead& head) { return terms_.contains(head.partition); });
    }

    // REQUIRES: it is one of those that were taken.
    const Term& TermOf(Partition partition) const { return terms_.at(partition); }

  private:
    StoreLock(Store& store, For what, Duration patience);
    Result<void> Lead(const PartitionHead& head);
    Result<void> LeadPatiently(const PartitionHead& head);
    void Renew();

    Store& store_;
    const Duration patience_;
    NodeRow node_;
    std::map<Partition, Term> terms_;
    std::mutex mutex_;
    std::condition_variable stopped_;
    bool stop_ = false;
    std::thread renewal_;
};

// All of a store, kept from schedulers, and where each of its partitions was by then.
struct LockedStore {
    std::unique_ptr<StoreLock> lock;
    std::vector<PartitionHead> heads;
};
Result<LockedStore> LockWhole(Store& store);

}  // namespace takt::internal
