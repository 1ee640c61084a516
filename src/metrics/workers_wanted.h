// WorkersWanted: how many workers would clear what waits in a queue within a given time. What an
// autoscaler sets the number of workers to.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace takt::internal {

struct QueueDemand {
    std::uint64_t ready = 0;        // Executions that only wait for a worker,
    std::uint64_t working = 0;      // and those that workers have.
    std::uint64_t working_max = 0;  // The queue's own limit; 0: it has none.
    // How long executions of this queue ran of late; nothing: none has ended.
    std::optional<double> seconds_each = {};
    double worker_capacity = 0;  // Of the workers that serve it, on average; 0: there is none.
};

// Places for what runs, and as many more as would clear what is ready in that time if each execution
// takes as long as those before it. While nobody knows how long they take, one worker more is enough
// to find out.
std::uint64_t WorkersWanted(const QueueDemand& queue, Duration clear_within);

}  // namespace takt::internal
