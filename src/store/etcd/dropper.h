// Dropper: deletes all that is stored of a partition but its term, a bounded number of keys at a time,
// so that nobody else waits long.
#pragma once

#include "store/etcd/async.h"
#include "store/etcd/client.h"
#include "store/etcd/keys.h"
#include "store/store.h"

namespace takt::internal::etcd {

// Good for one partition.
class Dropper {
  public:
    // `last` is the epoch above which a term is another's.
    Dropper(Client& client, const Keys& keys, Partition partition, std::uint64_t last)
        : client_(client), keys_(keys), partition_(partition), last_(last) {}

    // As the store's own DropPartition.
    Async<Result<void>> Drop();

  private:
    Async<Result<void>> DropRange(KeyRange range);
    // One transaction. REQUIRES: at most kKeysAtOnce keys are in the range.
    Async<Result<void>> DeleteSome(KeyRange range);

    Client& client_;
    const Keys& keys_;
    const Partition partition_;
    const std::uint64_t last_;
    std::string epoch_;  // As it was at first. Empty: nobody has ever led.
};

}  // namespace takt::internal::etcd
