// StoreFaults: what goes wrong with the database of a simulation. It is slow, loses answers, is reached
// late and twice, does not answer at all, refuses a batch as impossible; and, where it may forget, it
// fails over to a replica that was behind.
#pragma once

#include <functional>
#include <memory>

#include "sim/drills.h"

namespace takt::internal::sim {

class StoreFaults {
  public:
    // Undoes a fault after a time between these, unless the heal has come first.
    using Later = std::function<void(Micros from, Micros to, std::function<void()> undo)>;

    StoreFaults(World& world, SimDatabase& database, const Drills::Spaces& spaces)
        : world_(world), database_(database), spaces_(spaces) {}

    void Fault(const Later& later);
    // Writes that come from now on will be lost.
    void FailOver(const Later& later);
    void Heal();

  private:
    void Hang(const Later& later);
    void CheckNobodyLeads(std::uint64_t hang);
    void Promote();

    World& world_;
    SimDatabase& database_;
    const Drills::Spaces& spaces_;
    std::uint64_t hangs_ = 0;
    std::shared_ptr<const SimDatabase::Copy> replica_;  // Of the failover that is to come.
};

}  // namespace takt::internal::sim
