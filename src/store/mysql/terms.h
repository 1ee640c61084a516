// Terms: taking and giving up the lead of a partition.
//
// The table `terms` is the fence, locked by every commit; `leases` has the same term with its node, for
// everybody to read. Both change in one transaction, and only if `leases` still holds the term that is
// replaced. On a connection and a thread of their own: an election may wait for a commit of the old
// leader, and announcements must not wait behind it.
#pragma once

#include <optional>
#include <string>

#include "base/random.h"
#include "store/mysql/lock_watch.h"
#include "store/mysql/session.h"
#include "store/store.h"

namespace takt::internal::mysql {

class Terms {
  public:
    Terms(const MysqlOptions& options, LockWatch& watch);

    // All throw MysqlError.
    Result<Term> Acquire(const Candidate& candidate);
    Result<void> Resign(const Term& term, const NodeId& successor);

  private:
    Result<Term> TryAcquire(Connection& connection, const Candidate& candidate);
    // Why the candidate cannot lead, if there is a reason. Locks the row of `leases`.
    Result<void> Judge(Connection& connection, const Candidate& candidate);
    bool Announced(Connection& connection, const NodeId& node);
    // Why nobody of our version may lead, if there is a reason: see Migrate.
    Result<void> CheckVersion(Connection& connection);
    void Begin(Connection& connection, const Candidate& candidate, Term& term);
    std::string TermCondition(const Term& term) const;

    const MysqlOptions& options_;
    LockWatch& watch_;
    Session session_;
    Random random_;
};

}  // namespace takt::internal::mysql
