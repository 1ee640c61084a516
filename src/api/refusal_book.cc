#include "api/refusal_book.h"

#include <utility>

namespace takt::internal {

bool RefusalBook::Add(AuditEntry refusal) {
    const std::scoped_lock lock(mutex_);
    const bool empty = tallies_.empty();
    const Act& act = refusal.act;
    std::tuple key(act.token_id, act.action, act.space);
    const auto found = tallies_.find(key);
    if (found != tallies_.end()) {
        // The last one tells from where and what was asked for.
        refusal.refusals += found->second.refusals;
        found->second = std::move(refusal);
    } else if (tallies_.size() < kTalliesMax) {
        tallies_.emplace(std::move(key), std::move(refusal));
    }
    return empty;
}

std::vector<AuditEntry> RefusalBook::TakeAll() {
    const std::scoped_lock lock(mutex_);
    std::vector<AuditEntry> all;
    for (auto& [key, entry] : tallies_) all.push_back(std::move(entry));
    tallies_.clear();
    return all;
}

}  // namespace takt::internal
