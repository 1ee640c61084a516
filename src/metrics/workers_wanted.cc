#include "metrics/workers_wanted.h"

#include <algorithm>
#include <cmath>

#include "model/worker.h"

namespace takt::internal {

std::uint64_t WorkersWanted(const QueueDemand& queue, Duration clear_within) {
    // Nobody serves it yet: one that does will likely have what workers have unless told otherwise.
    const double capacity =
        queue.worker_capacity > 0 ? queue.worker_capacity : double(Worker{}.capacity);
    const double seconds = std::max(std::chrono::duration<double>(clear_within).count(), 1e-3);
    const double ready = double(queue.ready);
    // No place can do less than one of them.
    const double more = queue.seconds_each
                            ? std::min(ready, std::ceil(ready * *queue.seconds_each / seconds))
                            : std::min(ready, capacity);
    double places = double(queue.working) + more;
    if (queue.working_max > 0) places = std::min(places, double(queue.working_max));
    return static_cast<std::uint64_t>(std::ceil(places / capacity));
}

}  // namespace takt::internal
