// The simulated database forgets: a replica that was behind is promoted, as Redis does it.
#include <memory>

#include "sim/sim_store.h"

namespace takt::internal::sim {

struct SimDatabase::Copy {
    std::shared_ptr<const MemoryDatabase::Copy> rows;
    std::map<std::uint64_t, std::uint64_t> applied;
    std::map<Partition, Known> current;
    std::map<Partition, Checker> checkers;
};

std::shared_ptr<const SimDatabase::Copy> SimDatabase::MakeCopy() {
    auto copy = std::make_shared<Copy>(rows.MakeCopy(), applied_, current_);
    for (const auto& [partition, by] : watched) copy->checkers.emplace(partition, *by.checker);
    return copy;
}

void SimDatabase::PutBack(const Copy& copy) {
    ++failovers_;
    rows.PutBack(*copy.rows);
    applied_ = copy.applied;
    current_ = copy.current;
    for (const auto& [partition, by] : watched) {
        Checker& checker = *by.checker;
        const Checker later = checker;
        // Its parts refer to each other, and those of the copy to the same ones: it takes the place
        // of the one that it is a copy of.
        std::destroy_at(&checker);
        std::construct_at(&checker, copy.checkers.at(partition));
        checker.Recall(later);
    }
}

bool SimDatabase::HasLost(std::uint64_t nonce) const {
    if (failovers_ == 0) return false;
    const auto acknowledged = acknowledged_.find(nonce);
    return !applied_.contains(nonce) ||
           (acknowledged != acknowledged_.end() && acknowledged->second > Applied(nonce));
}

}  // namespace takt::internal::sim
