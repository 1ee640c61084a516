// QueueHistory: how much waited in each queue and for how long, over the last hours, for charts.
//
// Bounded: kQueuesMax queues with kPointsMax points each, half a megabyte in all; kept for the next
// leader it is at most some 40 KiB for ten minutes. A queue in which nothing waits, runs or ends gets
// no points, and none is left of it six hours later. Where more queues are at work, a new one takes
// the place of the one that has been idle longest; if none is idle it has no history.
//
// Pure: time comes with each call. Not for concurrent use.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "model/execution.h"
#include "statistics/sketch.h"

namespace takt::internal {

struct QueuePoint {
    Time at{};  // When the step ended.
    // The most that was seen in the step, which is looked into several times.
    std::uint64_t waiting = 0;
    std::uint64_t working = 0;
    Duration oldest_wait{0};     // Of those that only wait for a worker.
    std::uint64_t finished = 0;  // Executions that ended in the step, without skipped ones.
    std::uint64_t failed = 0;    // Those of them.
    // In milliseconds, of executions that ended in the step; nothing if none did.
    std::optional<double> wait_p95;

    // Nothing was there and nothing happened.
    bool idle() const { return waiting + working + finished == 0; }
};

// Points of queues, each oldest first.
using QueuePoints = std::map<std::string, std::vector<QueuePoint>, std::less<>>;

// A line for each queue. Lines that are none of a queue are passed over when they are read.
std::string EncodeQueues(const QueuePoints& queues);
void DecodeQueues(std::string_view text, QueuePoints& into);

class QueueHistory {
  public:
    // As many as there are recurring tasks and workers of their own in a day's statistics.
    static constexpr std::size_t kQueuesMax = 100;
    static constexpr Duration kKept = std::chrono::hours(6);
    static constexpr std::size_t kPointsMax = kKept / std::chrono::minutes(1);

    struct Depth {
        Text queue;
        std::uint64_t waiting = 0;
        std::uint64_t working = 0;
        Duration oldest_wait{0};
    };
    // The queues as they are now. Where places are few the fullest ones come first.
    void Look(std::vector<Depth> depths);
    // An execution that ended: its row as the store keeps it.
    void Ended(const Execution& row);
    // A queue that was idle before it had work, or becomes so, gets a point that says it.
    void EndStep(Time now);

    // Oldest first. Empty if the queue was idle, or has no place.
    std::vector<QueuePoint> Since(const Text& queue, Time from) const;
    QueuePoints Since(Time from) const;
    // Whether there is a place for it, as there is for every queue while there are few.
    bool Keeps(const Text& queue) const;
    // Points of an earlier leader, before all of its own; those that are not older are left out.
    void Prepend(const QueuePoints& queues);
    void Clear();

  private:
    struct Entry {
        std::deque<QueuePoint> points;
        QueuePoint now;
        std::unique_ptr<Sketch> waits;  // None while nothing has ended in this step.
    };

    // The entry of a queue that is at work, or nullptr if it gets no place in this step.
    Entry* At(const Text& queue);
    bool MakePlace();

    boost::unordered_flat_map<Text, std::unique_ptr<Entry>, TextHash, TextEqual> queues_;
    bool full_ = false;  // Nobody's place can be had in this step.
    Time last_step_{};   // When the one before ended; 0: this is the first.
    // Most executions end in the queue of the one before.
    Text last_queue_;
    Entry* last_ = nullptr;
};

}  // namespace takt::internal
