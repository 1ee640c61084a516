// Leases: taking, keeping and giving up the lead of a partition, and being there as a scheduler.
// A caller that only wants to know asks a Reader.
//
// Two things tell. The table `leases` says until when a term holds, by the server's clock, and
// `terms` is the fence; both change in one transaction, and they are the truth. Beside them the
// leader's session holds a named lock (GET_LOCK), which the server frees at once when the session
// ends: a follower that finds it free, although the row says that the leader has it, need not wait
// for the ttl. But a session also ends when one answer of the server came too late, and then the
// leader is well: it takes the lock again with its next renewal, or says in the row that it has
// none. So the follower waits until it missed a renewal and has had time to ask again (Orphaned).
//
// All of it is on one connection that is used for nothing else, by one thread, so that neither
// commits nor reads delay a renewal. A call that is not answered ends after about a quarter of the
// ttl, so that it can be made once more before the ttl is over.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "store/mysql/session.h"
#include "store/store.h"

namespace takt::internal::mysql {

class Leases {
  public:
    explicit Leases(const MysqlOptions& options);

    // All throw MysqlError.
    Result<Term> Acquire(const Candidate& candidate);
    Result<void> Renew(const Term& term, Duration ttl);
    Result<void> Resign(const Term& term);
    Result<void> Announce(const NodeRow& node, Duration ttl);

  private:
    // A term that began here, and the session that then held the lock; 0 if another session did.
    struct Held {
        Term term;
        std::uint64_t session = 0;
    };
    // A row of `leases`.
    struct Lease {
        std::string node;
        bool stands = false;  // Not resigned, and its ttl has not run out.
        bool locked = false;  // Its leader had the lock.
        std::uint64_t nonce = 0;
        Duration left{0};  // Of its ttl.
    };
    // Since when the lock of a term was seen free each time that we looked.
    struct FreeLock {
        std::uint64_t nonce = 0;
        Steady since{};
    };

    Result<Term> TryAcquire(Connection& connection, const Candidate& candidate);
    std::optional<Lease> Read(Connection& connection, Partition partition, bool for_update);
    // Whether the leader is gone, though its ttl is not over. REQUIRES: we have just taken its
    // lock.
    bool Orphaned(Partition partition, const Lease& lease, Duration ttl);
    // Why nobody of our version may lead, if there is a reason: see Migrate.
    Result<void> CheckVersion(Connection& connection);
    void LimitTime(Duration ttl);
    // By what we know.
    bool HoldsLock(Partition partition) const;
    // By what the server says.
    bool StillLocked(Connection& connection, Partition partition) const;
    bool TakeLock(Connection& connection, Partition partition);
    void ReleaseLock(Connection& connection, Partition partition);
    void Forget(Connection& connection, Partition partition);
    void Begin(Connection& connection, const Candidate& candidate, bool locked, Term& term);
    std::string LockName(Partition partition) const;
    std::string TermCondition(const Term& term) const;

    const MysqlOptions& options_;
    Session session_;
    Random random_;
    std::map<Partition, Held> held_;
    std::map<Partition, FreeLock> free_;
};

}  // namespace takt::internal::mysql
