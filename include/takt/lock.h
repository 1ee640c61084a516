// Locks: permits with a fencing token, held over the network.
//
//     auto lock = client.Lock("ledger", {.ttl = 30s, .wait = 10s});
//     if (!lock) return Complain(lock.error());
//     Write(account, lock->token());  // … WHERE fence < token
//
// A HeldLock renews itself on a thread of its own and lets the lock go at its end. A lock can be
// lost all the same: this process was asleep, or cut off from the schedulers for longer than the
// ttl. Then its stop_token is stopped, at the latest when somebody else may have the lock; what
// must not happen after that is made sure by the token (docs/locks.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "takt/error.h"
#include "takt/export.h"
#include "takt/time.h"

namespace takt {

struct LockOptions {
    Duration ttl{30'000};       // The lease, 1 s to 1 h: how long it outlives a holder that died.
    Duration wait{0};           // How long to stand in line; 0: only if it is free.
    std::uint32_t permits = 1;  // Of those that the lock has.
    std::string owner = {};     // For people; empty: the name of the access token.
};

// A holder of a lock, or somebody who stands in line for it.
struct LockHolder {
    std::string lock_id;  // Empty for those who wait.
    std::string owner;
    std::uint32_t permits = 1;
    std::uint64_t token = 0;
    Time since{};
    std::optional<Time> until;  // Of the lease, or of the wait; none: the end of the attempt.
    std::string execution_id;   // Whose attempt holds it or waits; empty: a client.
    std::uint32_t attempt = 0;
    std::string worker_id;
};

// A lock as the scheduler knows it.
struct LockRecord {
    std::string name;
    std::uint32_t permits = 1;
    std::uint32_t taken = 0;
    std::uint64_t waiting = 0;
    std::vector<LockHolder> holders;  // By token; the first hundred.
    std::vector<LockHolder> waiters;  // In the order of the line; the first hundred.
};

// Copies share one lock, which is let go with the last of them.
class TAKT_EXPORT HeldLock {
  public:
    const std::string& name() const;
    const std::string& lock_id() const;
    // Higher than that of everybody who had the lock before.
    std::uint64_t token() const;

    // Stopped when the lock is lost, and when it was released.
    std::stop_token stop_token() const;
    bool held() const { return !stop_token().stop_requested(); }

    // Lets it go, and waits until that is stored. kUnavailable, kUnknown: it may last until its
    // lease is over. Lost before is no error.
    Result<void> Release();

  private:
    friend class SchedulerApi;
    struct TAKT_LOCAL Impl;
    explicit HeldLock(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
    std::shared_ptr<Impl> impl_;
};

}  // namespace takt
