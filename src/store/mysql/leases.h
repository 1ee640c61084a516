// Leases: being there as a scheduler, and who leads what. Terms begin and end in Terms; a caller that
// only wants to know the schedulers asks a Reader.
//
// The table `schedulers` says until when a node is announced, by the server's clock, and `leases` which
// term was the last of each partition: it stands as long as its node is announced. Beside them the
// node's session holds a named lock (GET_LOCK), which the server frees at once when the session ends:
// others that find it free, although the row says that the node has it, need not wait for the ttl. But
// a session also ends when one answer of the server came too late, and then the node is well. So they
// wait until it missed an announcement and has had time for another (LockWatch).
//
// All of it is on one connection that is used for nothing else, by one thread, so that neither
// commits nor reads nor elections delay an announcement. A call that is not answered ends after about
// a quarter of the ttl, so that it can be made once more before the ttl is over.
#pragma once

#include <string>
#include <vector>

#include "store/mysql/lock_watch.h"
#include "store/mysql/session.h"
#include "store/store.h"

namespace takt::internal::mysql {

class Leases {
  public:
    Leases(const MysqlOptions& options, LockWatch& watch);

    // All throw MysqlError.
    Result<void> Announce(const NodeRow& node, Duration ttl);
    Result<std::vector<LeaderRow>> Leaders();

  private:
    Result<void> Withdraw(Connection& connection, const NodeId& node);
    void LimitTime(Duration ttl);

    const MysqlOptions& options_;
    LockWatch& watch_;
    Session session_;
    std::uint64_t locked_ = 0;  // The session that has taken the lock of a node; 0: none has.
};

}  // namespace takt::internal::mysql
