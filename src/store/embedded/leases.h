// Leases: who leads each partition and which schedulers are there.
//
// Only one process uses the file, so ttls live in its memory: when it ends, its leadership ends.
// The epoch and the fence must outlive it, and are a row of the table `terms`.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/random.h"
#include "store/embedded/writer.h"
#include "store/store.h"

namespace takt::internal::embedded {

class Leases {
  public:
    Leases(Writer& writer, std::function<Steady()> clock);

    // On the writer's thread: a term begins and ends in order with the commits.
    Result<Term> Acquire(const Candidate& candidate);
    Result<void> Resign(const Term& term);

    Result<void> Renew(const Term& term, Duration ttl);
    Result<std::optional<LeaderRow>> Leader(Partition partition);
    Result<void> Announce(const NodeRow& node, Duration ttl);
    Result<std::vector<NodeRow>> Nodes();

  private:
    struct Lease {
        Term term;
        LeaderRow leader;
        Steady expires;
    };

    Writer& writer_;
    const std::function<Steady()> clock_;
    std::mutex mutex_;
    Random random_;
    std::map<Partition, Lease> leases_;
    std::map<NodeId, std::pair<NodeRow, Steady>> nodes_;
};

}  // namespace takt::internal::embedded
