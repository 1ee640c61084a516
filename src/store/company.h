// Company: whether several namespaces of a process are at work at the moment.
//
// A namespace that is alone takes inputs for longer and gathers as much as the store takes into one
// commit: that is fastest. Where others are at work too they would wait for all of it, so each then
// takes short turns and writes less at once.
#pragma once

#include <atomic>
#include <cstddef>

#include "base/id.h"
#include "base/time.h"

namespace takt::internal {

class Company {
  public:
    // From when another one writes until it has been quiet for so long.
    static constexpr Duration kSharedFor{5'000};
    // Of one commit: written and synced in some milliseconds, and hardly slower for each of them.
    // Beside one that floods the median of another is a third of what it is with whole batches.
    static constexpr std::size_t kChangesMax = 256;
    static constexpr Duration kTurn{1};

    // A partition has something to write. From any thread.
    void Note(Partition partition, Steady now) {
        const int last = last_.exchange(partition, std::memory_order_relaxed);
        if (last == partition || last < 0) return;
        shared_until_.store((now + kSharedFor).time_since_epoch().count(),
                            std::memory_order_relaxed);
    }
    bool shared(Steady now) const {
        return now.time_since_epoch().count() < shared_until_.load(std::memory_order_relaxed);
    }

  private:
    std::atomic<int> last_ = -1;
    std::atomic<Steady::rep> shared_until_ = 0;
};

}  // namespace takt::internal
