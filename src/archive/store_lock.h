// StoreLock: keeps schedulers out of a store while a command reads all of it or writes to it.
//
// Leads every partition itself, so that a scheduler which starts meanwhile waits, and what is
// written is fenced like any other write. Ends with the object, or by itself some seconds after the
// process died.
#pragma once

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

    // Leads these partitions, with epochs above those that the heads name. kConflict, naming it,
    // while a scheduler leads one of them.
    static Result<std::unique_ptr<StoreLock>> Take(Store& store,
                                                   const std::vector<PartitionHead>& heads,
                                                   For what = For::kReading);
    // Leads further ones, in the same way; those that it leads already are left as they are.
    Result<void> TakeMore(const std::vector<PartitionHead>& heads);
    // Leads one of them anew, in a term behind the one that it has. After an error only this may be
    // called for it, again.
    Result<void> LeadAnew(const PartitionHead& head);
    ~StoreLock();
    StoreLock(const StoreLock&) = delete;
    StoreLock& operator=(const StoreLock&) = delete;

    // REQUIRES: it is one of those that were taken.
    const Term& TermOf(Partition partition) const { return terms_.at(partition); }

  private:
    StoreLock(Store& store, For what);
    Result<void> Lead(const PartitionHead& head);
    void Renew();

    Store& store_;
    NodeRow node_;
    std::map<Partition, Term> terms_;
    std::mutex mutex_;
    std::condition_variable stopped_;
    bool stop_ = false;
    std::thread renewal_;
};

}  // namespace takt::internal
