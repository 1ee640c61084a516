// Gate: lets only so many executions through at once, or in a time. What may not pass yet waits in
// front of it, so that it never stands in the way of others in its lane.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "engine/live.h"
#include "engine/timer_heap.h"
#include "model/task.h"

namespace takt::internal {

// A token bucket: `count` starts in any `per`, evenly refilled, with bursts up to `count`.
class Pace {
  public:
    void Set(RateLimit limit, Steady now) {
        if (limit == limit_) return;
        // A new limit gives nobody a burst beyond what was left of the old one: two tasks that
        // share a key and disagree would fill the bucket for each other.
        if (limited()) Ready(now);
        tokens_ = limited() ? std::min<double>(tokens_, limit.count) : limit.count;
        limit_ = limit;
        filled_at_ = now;
    }
    const RateLimit& limit() const { return limit_; }
    bool limited() const { return limit_.count > 0 && limit_.per > Duration(0); }

    bool Ready(Steady now) {
        if (!limited()) return true;
        const std::chrono::duration<double> since = now - filled_at_;
        const std::chrono::duration<double> per = limit_.per;
        tokens_ = std::min<double>(limit_.count, tokens_ + limit_.count * (since / per));
        filled_at_ = now;
        // A little less than one is one: rounding must not make a timer wake up for nothing.
        return tokens_ >= 1 - 1e-6;
    }
    // Whether forgetting it would make no difference.
    bool Full(Steady now) { return !limited() || (Ready(now) && tokens_ >= limit_.count - 1e-6); }
    // Never below nothing: what a new leader finds at work started under the old one's pace.
    void Spend() {
        if (limited()) tokens_ = std::max(tokens_ - 1, 0.0);
    }
    // When the next token is there. REQUIRES: limited, and Ready just said no.
    Steady ReadyAt() const {
        const auto wait = limit_.per * ((1 - tokens_) / limit_.count);
        return filled_at_ + std::chrono::ceil<SteadyClock::duration>(wait);
    }

  private:
    RateLimit limit_;
    double tokens_ = 0;
    Steady filled_at_{};
};

// Waits in the timer heap for its pace.
struct Gate : Timer {
    Text key;        // Of a named gate; empty for a task's own.
    Time said_at{};  // When the task was accepted whose word on the limits counts.
    std::uint64_t order = 0;
    std::uint32_t inside_max = 0;  // 0 is no limit.
    std::uint32_t inside = 0;
    Pace pace;
    LiveList waiting;

    bool Open(Steady now) { return (inside_max == 0 || inside < inside_max) && pace.Ready(now); }
};

}  // namespace takt::internal
