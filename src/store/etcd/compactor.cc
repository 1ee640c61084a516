#include "store/etcd/compactor.h"

#include <algorithm>

namespace takt::internal::etcd {

std::optional<std::int64_t> Compactor::Observe(std::int64_t revision, Steady now) {
    const std::lock_guard lock(mutex_);
    if (seen_.empty() || now - seen_.back().first >= kTimeStep) seen_.emplace_back(now, revision);
    // The front is the newest revision that is old enough.
    while (seen_.size() > 1 && now - seen_[1].first >= kTimeKept) seen_.pop_front();
    const std::int64_t aged = now - seen_.front().first >= kTimeKept ? seen_.front().second : 0;
    const std::int64_t target = std::max(aged, revision - kRevisionsKept);
    if (target <= compacted_) return std::nullopt;
    const bool much = target - compacted_ >= kRevisionsStep;
    const bool long_ago = now - compacted_at_ >= kTimeStep;
    if (!much && !long_ago) return std::nullopt;
    compacted_ = target;
    compacted_at_ = now;
    return target;
}

}  // namespace takt::internal::etcd
