// The state of Meters; for meters.cc, which counts, and meters_text.cc, which tells.
#pragma once

#include <array>
#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/text.h"
#include "metrics/meter_parts.h"
#include "metrics/meters.h"
#include "statistics/table.h"

namespace takt::internal {

inline constexpr std::array<double, 14> kDurationBounds = {
    0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 3600};
inline constexpr std::array<double, 13> kCommitBounds = {
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10};
inline constexpr std::array<double, 12> kChangesBounds = {1,   2,   5,   10,   20,   50,
                                                          100, 200, 500, 1000, 2000, 5000};

// A value for each of the first names, one for the rest.
template <typename Value>
class ByLabel {
  public:
    template <typename Make>
    Value& At(const Text& name, Make make) {
        // Most batches are of one kind.
        if (last_ && last_name_ == name) return *last_;
        auto found = values_.find(name.view());
        if (found == values_.end()) {
            const Text key = values_.size() < kLabelsMax ? name : Text(kOtherKey);
            found = values_.find(key.view());
            if (found == values_.end()) found = values_.emplace(key, make()).first;
        }
        last_name_ = name;
        last_ = found->second.get();
        return *last_;
    }
    // Null if it has none of its own.
    Value* Find(const Text& name) const {
        const auto found = values_.find(name.view());
        return found == values_.end() ? nullptr : found->second.get();
    }
    const auto& values() const { return values_; }

  private:
    boost::unordered_flat_map<Text, std::unique_ptr<Value>, TextHash, TextEqual> values_;
    Text last_name_;
    Value* last_ = nullptr;
};

struct RateCounts {
    std::uint64_t succeeded = 0;
    std::uint64_t failed = 0;
    std::uint64_t retried = 0;
    std::uint64_t dispatched = 0;
    std::uint64_t lost = 0;

    RateCounts& operator+=(const RateCounts& other) {
        succeeded += other.succeeded;
        failed += other.failed;
        retried += other.retried;
        dispatched += other.dispatched;
        lost += other.lost;
        return *this;
    }
};

// How many executions of each queue ended of late. Unlike labels, queues are asked for by name.
class QueueRates {
  public:
    explicit QueueRates(std::chrono::milliseconds slot) : slot_(slot) {}

    void Count(const Text& queue, Steady now) {
        // Most batches are of one queue.
        if (last_ && last_name_ == queue) return void(++last_->Now(now));
        auto found = rates_.find(queue.view());
        if (found == rates_.end()) {
            if (rates_.size() >= kQueuesMax) Sweep(now);
            if (rates_.size() >= kQueuesMax) return;
            found = rates_.emplace(queue, std::make_unique<Rate>(slot_)).first;
        }
        last_name_ = queue;
        last_ = found->second.get();
        ++last_->Now(now);
    }
    // Per second. Nothing if there are so many queues that this one may not have been counted.
    std::optional<double> Of(const Text& queue, Steady now) const {
        const auto found = rates_.find(queue.view());
        if (found != rates_.end()) {
            Rate& rate = *found->second;
            return static_cast<double>(rate.Sum(now)) /
                   std::chrono::duration<double>(rate.length()).count();
        }
        return rates_.size() < kQueuesMax ? std::optional(0.0) : std::nullopt;
    }

  private:
    using Rate = RecentCounts<std::uint64_t, 10>;
    // Names come from users. Four times as many as the engine keeps of idle ones.
    static constexpr std::size_t kQueuesMax = 1'000;

    // Forgets those in which nothing ended; no more often than that can change.
    void Sweep(Steady now) {
        if (now - swept_ < slot_) return;
        swept_ = now;
        last_ = nullptr;
        boost::unordered::erase_if(rates_,
                                   [now](auto& rate) { return rate.second->Sum(now) == 0; });
    }

    std::chrono::milliseconds slot_;
    boost::unordered_flat_map<Text, std::unique_ptr<Rate>, TextHash, TextEqual> rates_;
    Steady swept_{};
    Text last_name_;
    Rate* last_ = nullptr;
};

struct QueueMeter {
    MeterHistogram wait{kDurationBounds};
    RecentMean ran;  // How long executions ran.
    std::uint64_t succeeded = 0;
    std::uint64_t failed = 0;
    std::uint64_t cancelled = 0;

    void CountEnd(Status status) {
        succeeded += status == Status::kSuccess;
        failed += status == Status::kFailed;
        cancelled += status == Status::kCancelled;
    }
};

struct TypeMeter {
    MeterHistogram duration{kDurationBounds};
    RecentSketch recent;
};

struct Meters::State {
    explicit State(Duration interval)
        : completions(
              std::max(Duration(interval.count() / std::int64_t{kCompletionSlots}), Duration(1))),
          queue_rates(completions.length() / kCompletionSlots) {}

    static constexpr std::size_t kCompletionSlots = 10;

    const SpanExporter* exporter = nullptr;  // Set before anybody asks.

    std::mutex mutex;  // Over everything below but `by_class`.
    std::uint64_t submitted = 0, completed = 0, failed = 0, cancelled = 0, retried = 0, skipped = 0,
                  stale = 0, fired = 0, missed = 0, dispatched = 0, lost = 0, locks_acquired = 0,
                  locks_lost = 0;
    EngineCounters seen;  // As of the last sample in this term.
    MeterHistogram delay{kDurationBounds};
    MeterHistogram lock_wait{kDurationBounds};
    MeterHistogram commit{kCommitBounds};
    MeterHistogram changes{kChangesBounds};
    RecentSketch recent_delay;
    RecentSketch recent_commit;  // In microseconds.
    ByLabel<TypeMeter> types;
    ByLabel<QueueMeter> queues;
    RecentCounts<RateCounts, 60> rates{kAlertWindow / 60};
    RecentCounts<std::uint64_t, kCompletionSlots> completions;
    QueueRates queue_rates;
    std::array<std::atomic<std::uint64_t>, 6> by_class{};

    void CountRan(const Text& of, Duration ran, Steady now) {
        TypeMeter& type = types.At(of, [] { return std::make_unique<TypeMeter>(); });
        type.duration.Observe(std::max(std::chrono::duration<double>(ran).count(), 0.0));
        type.recent.Add(ran, now);
    }
    double Throughput(Steady now) {
        const auto seconds = std::chrono::duration<double>(completions.length()).count();
        return static_cast<double>(completions.Sum(now)) / seconds;
    }
};

}  // namespace takt::internal
