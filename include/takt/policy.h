// Policies that a task and a step of a workflow have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "takt/time.h"

namespace takt {

// How failed attempts are repeated. What is not set is as the scheduler's options say.
struct RetryPolicy {
    std::optional<std::uint32_t> max_retries = {};
    std::optional<Duration> delay = {};       // Before the first retry,
    std::optional<double> backoff_rate = {};  // each later delay is the one before times this,
    std::optional<Duration> delay_max = {};   // but none is longer than this.
    std::optional<double> jitter = {};  // Shortened by up to this fraction, 0 to 1, at random.
};

// A lock that a task declares; see docs/locks.md.
struct LockWant {
    std::string name;
    std::uint32_t permits = 1;
};

// Up to `count` starts at once, then evenly `count` in each `per`; at most twice `count` in any.
struct RateLimit {
    std::uint32_t count = 0;  // 0 is no limit.
    Duration per{1'000};
};

}  // namespace takt
