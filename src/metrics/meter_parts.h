// The parts of meters: histograms, sketches and counts of the last while. Not for concurrent use.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/time.h"
#include "statistics/sketch.h"

namespace takt::internal {

// A histogram as Prometheus counts. The bounds are somebody's constants and outlive it.
class MeterHistogram {
  public:
    explicit MeterHistogram(std::span<const double> bounds)
        : bounds_(bounds), counts_(bounds.size() + 1) {}
    void Observe(double value) {
        const auto at = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
        ++counts_[static_cast<std::size_t>(at)];
        sum_ += value;
    }
    std::span<const double> bounds() const { return bounds_; }
    const std::vector<std::uint64_t>& counts() const { return counts_; }  // The last is the rest.
    double sum() const { return sum_; }

  private:
    std::span<const double> bounds_;
    std::vector<std::uint64_t> counts_;
    double sum_ = 0;
};

// Quantiles of the last three to five minutes.
class RecentSketch {
  public:
    void Add(Duration value, Steady now) {
        Forward(now);
        current_.Add(value);
    }
    std::optional<double> Quantile(double quantile, Steady now) {
        Forward(now);
        Sketch both = previous_;
        both.Add(current_);
        return both.Quantile(quantile);
    }

  private:
    static constexpr std::chrono::seconds kHalf{150};

    void Forward(Steady now) {
        if (now - began_ < kHalf) return;
        previous_ = now - began_ < 2 * kHalf ? current_ : Sketch();
        current_ = Sketch();
        began_ = now;
    }

    Sketch current_;
    Sketch previous_;
    Steady began_{};
};

// The mean of the last three to five minutes; of the last value if those brought none.
class RecentMean {
  public:
    void Add(double value, Steady now) {
        if (now - began_ >= kHalf) {
            previous_ = now - began_ < 2 * kHalf ? current_ : Sum();
            current_ = Sum();
            began_ = now;
        }
        current_.total += value;
        ++current_.count;
    }
    std::optional<double> Mean() const {
        const double count = double(current_.count + previous_.count);
        if (count == 0) return std::nullopt;
        return (current_.total + previous_.total) / count;
    }

  private:
    static constexpr std::chrono::seconds kHalf{150};
    struct Sum {
        double total = 0;
        std::uint64_t count = 0;
    };

    Sum current_;
    Sum previous_;
    Steady began_{};
};

// Counts of the last while, in slots.
template <typename Counts, std::size_t kSlots>
class RecentCounts {
  public:
    explicit RecentCounts(std::chrono::milliseconds slot) : slot_(slot) {}

    Counts& Now(Steady now) {
        Forward(now);
        return slots_[static_cast<std::size_t>(number_) % kSlots];
    }
    Counts Sum(Steady now) {
        Forward(now);
        Counts sum{};
        for (const Counts& counts : slots_) sum += counts;
        return sum;
    }
    std::chrono::milliseconds length() const { return slot_ * kSlots; }

  private:
    void Forward(Steady now) {
        const std::int64_t number = now.time_since_epoch() / slot_;
        const std::int64_t steps = std::min(number - number_, static_cast<std::int64_t>(kSlots));
        for (std::int64_t i = 0; i < steps; ++i) {
            slots_[static_cast<std::size_t>(number - i) % kSlots] = {};
        }
        if (steps > 0) number_ = number;
    }

    std::chrono::milliseconds slot_;
    std::array<Counts, kSlots> slots_{};
    std::int64_t number_ = 0;
};

}  // namespace takt::internal
