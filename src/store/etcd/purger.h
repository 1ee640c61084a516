// Purger: finds out what a Purge deletes. The only change that depends on what is stored.
//
// Packs are in the order in which executions finished, in each epoch, so the oldest are found in the
// first ones, which the window remembers. Children of runs are in packs of their runs, which nobody
// looks at before the run itself is old.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "store/etcd/client.h"
#include "store/etcd/keys.h"
#include "store/etcd/ops.h"
#include "store/etcd/purge_window.h"
#include "store/store.h"

namespace takt::internal::etcd {

class Purger {
  public:
    // The room that the deletions may take of the transaction.
    struct Room {
        std::size_t ops = 0;
        std::size_t bytes = 0;
    };
    // `window` is of the batch's term. Whatever is planned is gone from it.
    Purger(Client& client, const Keys& keys, const Batch& batch, Room room, PurgeWindow& window);

    // The deletions of the batch's purges, as the state after the batch before it calls for, as far
    // as there is room; the next purge goes on.
    // Nothing if that batch is not the last one applied: the commit will be refused and say why.
    Async<Result<Ops>> Plan();
    // The executions that the last plan takes out of pages.
    std::vector<Serial> TakePaged() { return std::move(paged_); }

  private:
    // What is known of a part of a run by its key.
    struct Child {
        Serial serial = 0;
        std::string id;
        bool payload_apart = false;
        bool finished = false;  // Or there is nothing of it.
        bool has_children = false;
    };
    struct Victim {
        Kin kin{};
        ExecutionKey key;
        bool payload_apart = false;
        bool paged = false;  // Its pointer is in a page.
    };

    Async<Result<bool>> IsNext();
    // Whether there is no room for one more victim, or for `bytes` more.
    bool full(std::size_t bytes = 0) const;
    Async<Result<void>> PlanExecutions(Purge purge);
    Async<Result<void>> PlanEvents(Purge purge);
    Async<Result<void>> PlanAudit(Purge purge);
    // The highest serial below which there are `room` rows of the audit at most.
    Async<Result<Serial>> AuditEnd(Serial bound, std::size_t room);
    Async<Result<std::size_t>> CountAudit(Serial below);
    // The events in packs that are old as a whole, from `from` on; the place behind the last of them.
    Async<Result<Serial>> PlanOldEvents(Serial from, Serial bound, std::size_t& room);
    // The old events of the pack that has newer ones too. The first event that stays, as far as it was
    // found.
    Async<Result<Serial>> PlanSplitEvents(Serial bound, std::size_t& room);
    Async<Result<std::vector<pb::KeyValue>>> ReadRows(KeyRange range, std::int64_t limit);
    // Takes at most `room` of them.
    Async<Result<void>> DeleteOld(PurgeWindow::Pack pack, Time before, std::size_t& room);
    // Takes at most `room` of a run's children, and of theirs before them; true if none is left.
    Async<Result<bool>> DeleteChildren(std::string run, std::size_t& room);
    // Some of them, newest first, below a serial; 0 for the newest.
    Async<Result<std::vector<Child>>> ReadChildren(std::string run, Serial below);
    void Delete(const Victim& victim);

    Client& client_;
    const Keys& keys_;
    const Batch& batch_;
    const Partition partition_;
    const Room room_;
    PurgeWindow& window_;
    // Executions that the batch itself changes, or whose children it does.
    std::set<std::string, std::less<>> touched_;
    std::int64_t revision_ = 0;
    std::size_t deferred_ = 0;             // Writes that will be added to ops_ for sure.
    std::vector<PurgeWindow::Pack> held_;  // Those of which some stay.
    std::vector<Serial> paged_;
    std::set<Serial> pages_;       // Those that they are in …
    std::size_t pages_bytes_ = 0;  // … and what writing these anew takes.
    Ops ops_;
};

}  // namespace takt::internal::etcd
