// Purger: finds out what a Purge deletes. The only change that depends on what is stored.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "store/etcd/client.h"
#include "store/etcd/keys.h"
#include "store/etcd/ops.h"
#include "store/etcd/snapshot.h"
#include "store/store.h"

namespace takt::internal::etcd {

class Purger {
  public:
    // What the deletions may take of the transaction.
    struct Room {
        std::size_t ops = 0;
        std::size_t bytes = 0;
    };
    Purger(Client& client, const Keys& keys, const Batch& batch, Room room);

    // The deletions of the batch's purges, as the state after the batch before it calls for, as far
    // as there is room; the next purge goes on.
    // Nothing if that batch is not the last one applied: the commit will be refused and say why.
    Async<Result<Ops>> Plan();

  private:
    // A row of a pack. It counts while its pointer leads to it.
    struct Resident {
        Execution row;
        bool readable = false;
        bool payload_apart = false;
        bool lives = false;
    };

    Async<Result<bool>> IsNext();
    // Whether there is no room for one more victim, or for `bytes` more.
    bool full(std::size_t bytes = 0) const;
    // The first packs of the range; `end` says, for the first key, up to where others may be read.
    Async<Result<Rows>> ReadOldest(KeyRange range,
                                   std::function<std::string(std::string_view)> end);
    Async<Result<void>> PlanExecutions(Purge purge);
    Async<Result<void>> PlanEvents(Purge purge);
    Async<Result<std::vector<Resident>>> Residents(PackName pack, std::string value);
    // Takes at most `room` of them; true if the pack behind it may hold more to delete.
    bool DeleteOld(const std::string& pack_key, std::vector<Resident> residents, Time before,
                   std::size_t& room);

    Client& client_;
    const Keys& keys_;
    const Batch& batch_;
    const Partition partition_;
    const Room room_;
    std::set<std::string, std::less<>> touched_;  // Executions that the batch itself changes.
    std::int64_t revision_ = 0;
    Ops ops_;
};

}  // namespace takt::internal::etcd
