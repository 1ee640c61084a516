// EngineCounters: what an engine has done so far, for metrics.
#pragma once

#include <cstdint>

namespace takt::internal {

// How many executions went which way since this engine began.
struct EngineCounters {
    std::uint64_t submitted = 0;
    std::uint64_t assigned = 0;
    std::uint64_t succeeded = 0;
    std::uint64_t failed = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t retried = 0;
    std::uint64_t lost = 0;   // Attempts lost with their worker.
    std::uint64_t stale = 0;  // Reports refused.
    std::uint64_t skipped = 0;
    std::uint64_t fired = 0;
    std::uint64_t missed = 0;  // Due times dropped by a misfire policy.
    std::uint64_t transitions = 0;
};

}  // namespace takt::internal
