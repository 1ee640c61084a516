#include "statistics/sketch.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace takt::internal {

double Sketch::MiddleOf(std::size_t bucket) {
    if (bucket < 32) return static_cast<double>(bucket);  // These are one millisecond wide.
    const std::size_t shift = bucket / 16 - 1;
    const double low = static_cast<double>((bucket % 16 + 16) << shift);
    return low + static_cast<double>((std::uint64_t{1} << shift) - 1) / 2;
}

void Sketch::AddBucket(std::size_t bucket, std::uint32_t count) {
    if (bucket >= kBuckets) return;
    const std::uint64_t sum = std::uint64_t{counts_[bucket]} + count;
    counts_[bucket] = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(sum, std::numeric_limits<std::uint32_t>::max()));
    count_ += count;
}

void Sketch::AddExact(std::uint64_t sum_ms, std::uint64_t max_ms) {
    sum_ += sum_ms;
    max_ = std::max(max_, max_ms);
}

void Sketch::Add(const Sketch& other) {
    if (other.count_ == 0) return;
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
        if (other.counts_[bucket] > 0) AddBucket(bucket, other.counts_[bucket]);
    }
    AddExact(other.sum_, other.max_);
}

std::optional<double> Sketch::Quantile(double quantile) const {
    if (count_ == 0) return std::nullopt;
    const auto rank = static_cast<std::uint64_t>(std::ceil(quantile * static_cast<double>(count_)));
    std::uint64_t seen = 0;
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
        seen += counts_[bucket];
        // The middle of the last bucket may lie above everything that was ever added.
        if (seen >= rank) return std::min(MiddleOf(bucket), static_cast<double>(max_));
    }
    return static_cast<double>(max_);
}

std::optional<double> Sketch::Mean() const {
    if (count_ == 0) return std::nullopt;
    return static_cast<double>(sum_) / static_cast<double>(count_);
}

}  // namespace takt::internal
