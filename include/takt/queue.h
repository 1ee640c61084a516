// Queues: what waits in each, and how much of it may run. See OperatorApi.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "takt/policy.h"
#include "takt/time.h"

namespace takt {

struct Queue {
    std::string name;
    bool paused = false;         // Nothing starts from it.
    std::uint64_t waiting = 0;   // Executions that could start.
    std::uint64_t working = 0;   // Executions that workers have.
    std::uint64_t finished = 0;  // Since this leader began; skipped ones do not count.
    std::optional<double>
        finished_per_second;              // Of late; none if there are too many queues to tell.
    std::optional<Duration> oldest_wait;  // None: nothing waits.
    std::uint32_t concurrency_max = 0;    // At most so many executions at once; 0 is no limit.
    RateLimit rate_limit = {};            // Of starts; count 0 is no limit.
};

// A change of a queue. Whatever is left out stays as it is.
struct QueueLimits {
    std::optional<std::uint32_t> concurrency_max = {};  // 0 takes the limit away.
    std::optional<RateLimit> rate_limit = {};           // A count of 0 takes it away.
    std::optional<bool> paused = {};
};

}  // namespace takt
