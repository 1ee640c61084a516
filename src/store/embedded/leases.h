// Leases: who leads each partition and which schedulers are there.
//
// Only one process uses the file, so announcements live in its memory: when it ends, so do its terms.
// The epoch and the fence must outlive it, and are rows of the table `terms`.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"
#include "store/embedded/writer.h"
#include "store/store.h"

namespace takt::internal::embedded {

class Leases {
  public:
    // `terms` are those of processes before, and over with them.
    Leases(Writer& writer, std::function<Steady()> clock, std::vector<LeaderRow> terms);

    // What is in the file. Throws SqliteError.
    static std::vector<LeaderRow> ReadTerms(Connection& connection);

    // On the writer's thread: a term begins and ends in order with the commits.
    Result<Term> Acquire(const Candidate& candidate);
    Result<void> Resign(const Term& term, const NodeId& successor);

    Result<void> Announce(const NodeRow& node, Duration ttl);
    Result<std::vector<NodeRow>> Nodes();
    Result<std::vector<LeaderRow>> Leaders();

  private:
    // REQUIRES: mutex_ is held.
    bool Announced(const NodeId& node) const;
    bool Stands(const LeaderRow& row) const;
    // Why the candidate cannot lead, if there is a reason.
    Result<void> Judge(const Candidate& candidate) const;

    Writer& writer_;
    const std::function<Steady()> clock_;
    std::mutex mutex_;
    Random random_;
    std::map<Partition, LeaderRow> last_;  // As in the table.
    // Terms that are over, though their node may be announced: it is another process, or cannot write.
    std::set<Partition> lost_;
    std::map<NodeId, std::pair<NodeRow, Steady>> nodes_;
};

}  // namespace takt::internal::embedded
