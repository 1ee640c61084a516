// Purger: finds out what a Purge deletes. The only change that depends on what is stored.
//
// Packs are in the order in which executions finished, so the oldest are found in the first ones.
// Children of runs are in packs of their runs, which nobody looks at before the run itself is old.
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
    // The room that the deletions may take of the transaction.
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
        bool has_children = false;
    };
    // What is known of a part of a run by its key.
    struct Child {
        Serial serial = 0;
        std::string id;
        bool payload_apart = false;
        bool finished = false;
        bool has_children = false;
    };
    struct Victim {
        Kin kin{};
        ExecutionKey key;
        bool payload_apart = false;
    };

    Async<Result<bool>> IsNext();
    // Whether there is no room for one more victim, or for `bytes` more.
    bool full(std::size_t bytes = 0) const;
    // The first packs of the range; `end` says, for the first key, up to where others may be read.
    Async<Result<Rows>> ReadOldest(KeyRange range,
                                   std::function<std::string(std::string_view)> end);
    Async<Result<void>> PlanExecutions(Purge purge);
    Async<Result<void>> PlanEvents(Purge purge);
    Async<Result<void>> PlanAudit(Purge purge);
    // The highest serial below which there are `room` rows of the audit at most.
    Async<Result<Serial>> AuditEnd(Serial bound, std::size_t room);
    Async<Result<std::size_t>> CountAudit(Serial below);
    Async<Result<std::vector<Resident>>> Residents(PackName pack, std::string value);
    // Takes at most `room` of them; true if the pack behind it may hold more to delete.
    Async<Result<bool>> DeleteOld(std::string pack_key, std::vector<Resident> residents,
                                  Time before, std::size_t& room);
    // Takes at most `room` of a run's children, and of theirs before them; true if none is left.
    Async<Result<bool>> DeleteChildren(std::string run, std::size_t& room);
    // Some of them, newest first, below a serial; 0 for the newest.
    Async<Result<std::vector<Child>>> ReadChildren(std::string run, Serial below);
    // For each execution: the value of its pointer, and whether anything is part of it.
    struct Family {
        std::optional<std::string> pointer;
        bool has_children = false;
    };
    Async<Result<std::vector<Family>>> ReadFamilies(Kin kin, std::vector<ExecutionKey> keys);
    void Delete(const Victim& victim);

    Client& client_;
    const Keys& keys_;
    const Batch& batch_;
    const Partition partition_;
    const Room room_;
    // Executions that the batch itself changes, or whose children it does.
    std::set<std::string, std::less<>> touched_;
    std::int64_t revision_ = 0;
    std::size_t deferred_ = 0;  // Writes that will be added to ops_ for sure.
    Ops ops_;
};

}  // namespace takt::internal::etcd
