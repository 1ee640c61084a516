// SimLocker: clients that acquire locks, hold them for a while, renew and release them; or die.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sim/client.h"

namespace takt::internal::sim {

class SimLocker {
  public:
    SimLocker(Cluster& cluster, SimClient& client) : cluster_(cluster), client_(client) {}

    void LockSomething();

    // Clients that are still at it.
    std::size_t pending() const { return pending_; }

  private:
    struct Holder {
        std::string name;
        std::string request_id;
        Duration ttl{0};
        Duration wait{0};
        int tries_left = 0;
        bool dies = false;  // Before it releases.
        Text lock_id;
        std::uint64_t token = 0;
        std::uint64_t token_before = 0;  // The highest that was told before it asked.
        Steady until{};                  // It holds it so long.

        Lease lease() const { return {Text(name), lock_id, token}; }
    };
    using HolderPtr = std::shared_ptr<Holder>;

    void Acquire(const HolderPtr& holder);
    void AcquireLater(const HolderPtr& holder);
    void Go(const HolderPtr& holder);
    void Renew(const HolderPtr& holder);
    void Release(const HolderPtr& holder);

    Cluster& cluster_;
    SimClient& client_;
    std::size_t pending_ = 0;
    std::uint64_t last_ = 0;
    std::uint64_t token_seen_ = 0;  // The highest of all: they are one process.
};

}  // namespace takt::internal::sim
