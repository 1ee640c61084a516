// Which of very many workers with room is next, for strategies that would have to look at all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "engine/slot.h"

namespace takt::internal {

// HashRing: the workers with room by the hash of their ids. Several points of it are asked for each
// task, and the worker that follows one most closely gets it: so all get about as much, and one that
// comes or goes changes only what it wins or had.
class HashRing {
  public:
    void Add(Slot& slot);
    void Remove(Slot& slot);
    // REQUIRES: there is one.
    Slot& Find(std::string_view task) const;

  private:
    std::map<std::pair<std::uint64_t, std::uint64_t>, Slot*> ring_;  // By hash and order.
};

// WeightedTurns: the workers with room by when it is their turn. Each turn puts a worker off by the
// inverse of its weight; so weights hold over time, and heavy workers do not get their share in bursts.
// One that had no room meanwhile is not made up to.
class WeightedTurns {
  public:
    void Add(Slot& slot);
    void Remove(Slot& slot);  // It has no room.
    void Forget(Slot& slot);  // It is gone.
    // The next one, which has had its turn then. REQUIRES: there is one.
    Slot& Take();

  private:
    std::set<std::pair<std::uint64_t, std::uint64_t>> next_;  // Turns, by the order of the worker.
    struct Known {
        std::uint64_t turn = 0;
        Slot* slot = nullptr;
    };
    std::map<std::uint64_t, Known> known_;  // By the order of the worker.
    std::uint64_t now_ = 0;                 // The turn that was taken last.
};

}  // namespace takt::internal
