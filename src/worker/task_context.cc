#include "worker/task_context.h"

#include <algorithm>

namespace takt::internal {

std::string_view Name(StopReason reason) {
    switch (reason) {
        case StopReason::kNone:
            return "none";
        case StopReason::kTimeout:
            return "timeout";
        case StopReason::kCancelled:
            return "cancelled";
        case StopReason::kShutdown:
            return "shutdown";
    }
    return "unknown";
}

Duration TaskContext::Remaining(Duration otherwise) const {
    if (!deadline_) return otherwise;
    return std::max(Duration(0),
                    std::chrono::duration_cast<Duration>(*deadline_ - SteadyClock::now()));
}

}  // namespace takt::internal
