#include "store/etcd/compactor.h"

#include <algorithm>

namespace takt::internal::etcd {

void Compactor::set_quota(std::uint64_t quota) {
    const std::lock_guard lock(mutex_);
    bytes_kept_ = quota == 0 ? kBytesKept : std::min(kBytesKept, quota / kPartKept);
    bytes_step_ = std::min(kBytesStep, bytes_kept_ / 4);
}

std::optional<std::int64_t> Compactor::Observe(std::int64_t revision, std::uint64_t bytes,
                                               Steady now) {
    const std::lock_guard lock(mutex_);
    written_ += bytes;
    if (marks_.empty() || written_ - marks_.back().written >= bytes_step_) {
        marks_.push_back({revision, written_});
    }
    // The front is the newest mark behind which there is enough to keep.
    while (marks_.size() > 1 && written_ - marks_[1].written >= bytes_kept_) marks_.pop_front();
    const bool heavy = written_ - marks_.front().written >= bytes_kept_;
    const std::int64_t outweighed = heavy ? marks_.front().revision : 0;
    if (seen_.empty() || now - seen_.back().first >= kTimeStep) seen_.emplace_back(now, revision);
    // The front is the newest revision that is old enough.
    while (seen_.size() > 1 && now - seen_[1].first >= kTimeKept) seen_.pop_front();
    const std::int64_t aged = now - seen_.front().first >= kTimeKept ? seen_.front().second : 0;
    const std::int64_t target = std::max({aged, revision - kRevisionsKept, outweighed});
    if (target <= compacted_) return std::nullopt;
    // Marks are a step apart: each new one is worth it.
    const bool much = target - compacted_ >= kRevisionsStep || outweighed > compacted_;
    const bool long_ago = now - compacted_at_ >= kTimeStep;
    if (!much && !long_ago) return std::nullopt;
    compacted_ = target;
    compacted_at_ = now;
    return target;
}

}  // namespace takt::internal::etcd
