// LockWatch: whether a scheduler is gone before its ttl is over, by its lock that is free.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "base/time.h"
#include "store/renewal.h"

namespace takt::internal::mysql {

// A row of `schedulers`, and what the server says of its lock.
struct Announced {
    std::string node;
    Duration left{0};  // Of its ttl.
    Duration ttl{0};
    bool free = false;  // The row says that it has the lock, and nobody has.
};

class LockWatch {
  public:
    // To be asked whenever the row is seen: a lock counts as free since it was first seen so, and each
    // time after. From any thread.
    bool Gone(const Announced& row) {
        const std::lock_guard lock(mutex_);
        if (!row.free) {
            since_.erase(row.node);
            return false;
        }
        const Steady now = SteadyClock::now();
        const Steady since = since_.try_emplace(row.node, now).first->second;
        return row.left < row.ttl / 2 && now - since >= RenewalTime(row.ttl);
    }

  private:
    std::mutex mutex_;
    std::map<std::string, Steady> since_;
};

}  // namespace takt::internal::mysql
