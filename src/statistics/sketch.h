// Sketch: how a quantity is spread, in a fixed few kilobytes, so that quantiles of a day can be
// told without keeping its values, and two sketches can be added.
//
// A log-linear histogram of milliseconds: values below 16 have a bucket each, and every doubling
// above has 16 buckets of equal width. A quantile is the middle of its bucket, so it is off by at
// most 1/32 of itself (3.2 %). Sum and greatest value are exact. Not for concurrent use.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace takt::internal {

class Sketch {
  public:
    // Values are cut to this: 49 days.
    static constexpr std::uint64_t kMax = (std::uint64_t{1} << 32) - 1;
    static constexpr std::size_t kBuckets = 16 + 28 * 16;

    static constexpr std::size_t BucketOf(std::uint64_t value) {
        if (value < 16) return static_cast<std::size_t>(value);
        if (value > kMax) value = kMax;
        const int shift = std::bit_width(value) - 5;
        return static_cast<std::size_t>(shift) * 16 + static_cast<std::size_t>(value >> shift);
    }
    // The middle of a bucket, in milliseconds.
    static double MiddleOf(std::size_t bucket);

    // Clocks may go back between a begin and an end: what is negative counts as 0.
    void Add(Duration value) {
        const auto ms = static_cast<std::uint64_t>(value.count() < 0 ? 0 : value.count());
        ++counts_[BucketOf(ms)];
        ++count_;
        sum_ += ms;
        if (ms > max_) max_ = ms;
    }
    void Add(const Sketch& other);

    // For reading one back: `count` values in a bucket; then the exact parts.
    void AddBucket(std::size_t bucket, std::uint32_t count);
    void AddExact(std::uint64_t sum_ms, std::uint64_t max_ms);

    std::uint64_t count() const { return count_; }
    std::uint64_t sum_ms() const { return sum_; }
    std::uint64_t max_ms() const { return max_; }
    const std::array<std::uint32_t, kBuckets>& counts() const { return counts_; }

    // In milliseconds; nothing while it is empty. REQUIRES: 0 < quantile < 1.
    std::optional<double> Quantile(double quantile) const;
    std::optional<double> Mean() const;

  private:
    // 32 bits: 50,000 a second would take a day to fill one, and then it stays full.
    std::array<std::uint32_t, kBuckets> counts_{};
    std::uint64_t count_ = 0;
    std::uint64_t sum_ = 0;
    std::uint64_t max_ = 0;
};

}  // namespace takt::internal
