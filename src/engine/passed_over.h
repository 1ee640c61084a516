// Which due times of a recurring task are accounted for, and which come although later ones are.
//
// A due time is fired once, whatever clocks do. A task remembers the first and the last that it
// accounted for and, in between, the stretches that it passed over: those that a clock which ran
// ahead left behind, and those that nobody could fire in time. If the clock is right again, they come
// by it like any other; also those before the first, if the clock was ahead when the task was made.
#pragma once

#include <optional>

#include "base/time.h"
#include "model/fire_plan.h"
#include "model/task.h"

namespace takt::internal {

// The first due time after `after` that is not accounted for.
std::optional<Time> NextDue(const FirePlan& plan, const FireState& state, Time after);

// The stretch of due times that are not accounted for around `due`.
struct OpenStretch {
    Time last{};          // It ends there.
    bool again = false;   // Later ones are accounted for.
    bool missed = false;  // They are on record as missed.
};
// Nothing if the due time is accounted for.
std::optional<OpenStretch> FindOpen(const FireState& state, Time due);

// Whether due times after `last` have come by `now` too, and are to be fired: those on record as
// missed only if they are no later than `tolerance`.
bool AnyDueBehind(const FirePlan& plan, const FireState& state, Time last, Time now,
                  Duration tolerance);

// The due time is fired. REQUIRES: it is not accounted for.
void TakeDue(const FirePlan& plan, FireState& state, Time due);

// The due times of the stretch are not fired, though later ones may be. What lies before it, and before
// `settled` by more than its length and an hour, is forgotten, as no clock is expected to go back so
// far; and of too many stretches the shortest, first of those on record as missed: then their due times
// do not come again. REQUIRES: none is accounted for.
void PassOver(const FirePlan& plan, FireState& state, const PassedOver& stretch, Time settled);

// Whether the task's own schedule is about to run this past due time: it is being caught up with.
bool IsStillToCome(const TaskRow& row, Time due);

// Whether a due time before `next_at` may be to come by a clock that was set back to `now`. Cheap; errs
// on the side of yes.
bool MayComeBefore(const TaskRow& row, Time now);

}  // namespace takt::internal
