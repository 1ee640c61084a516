// DecideFire: what becomes of a due time that has come, and of others that came and went before
// anybody could fire them.
//
// Pure: the task's plan, its options and the moment go in, the decision comes out. The engine
// carries it out (engine_fires.cc); nothing here knows of runs, queues or stores.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "model/fire_plan.h"
#include "model/task.h"

namespace takt::internal {

// Due times that have to be counted one by one (a fixed rate with excluded days) are counted up to this
// many when they are recorded as missed.
constexpr std::uint64_t kMissedCountMax = 10'000;

struct FireSituation {
    Time due{};                // The first due time that is not accounted for yet.
    Time now{};                // Not before `due`.
    Time until{};              // Due times after this are no concern of the decision, …
    bool more_behind = false;  // … except that some of them are overdue as well, and to be fired.
    Duration tolerance{0};     // To Misfire::kSkip, a due time no later than this is on time.
    std::uint32_t caught_up = 0;  // Fires made late just before, one after the other.
};

struct FireDecision {
    // The due times that are too late to be fired, `due` first: they are recorded as missed, and
    // the next decision is about the one after them. Nothing: `due` is fired.
    std::optional<DueTimes> missed;
    std::uint32_t caught_up = 0;  // For the next decision.
    Time next_after{};            // The next due time is the first one after this.
};

// REQUIRES: `at.due` is one of the plan's due times and not after `at.until`, nor that after
// `at.now`.
FireDecision DecideFire(const FirePlan& plan, const TaskOptions& options, const FireSituation& at);

}  // namespace takt::internal
