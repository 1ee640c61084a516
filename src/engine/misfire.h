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

// Due times beyond this many are not counted one by one when they are recorded as missed.
constexpr std::uint64_t kMissedCountMax = 10'000;

struct FireSituation {
    Time due{};                   // The first due time that is not accounted for yet.
    Time now{};                   // Not before `due`.
    Time until{};                 // Due times after this are no concern of the decision.
    Duration tolerance{0};        // To Misfire::kSkip, a due time no later than this is on time.
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

// The first due time after `after` that was not fired. What is accounted for does not come again
// when a clock is set back, unless it was only passed over.
std::optional<Time> NextDue(const FirePlan& plan, const FireState& state, Time after);

// Whether the due time is on record as missed although, by a clock that came back, it is to come.
bool IsPassedOver(const FireState& state, Time due);

// The due times from `first` to `last` are recorded as missed at `now`. One such range is kept, the
// longest: an hour that a clock ran ahead must not be forgotten for a second of downtime. A range
// is of use for as long as it is long.
void PassOver(FireState& state, Time first, Time last, Time now);

// All that was passed over up to `until` is accounted for.
void TakePassedOver(FireState& state, Time until);

}  // namespace takt::internal
