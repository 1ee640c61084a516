#include "engine/misfire.h"

#include <algorithm>

#include "base/failpoint.h"

namespace takt::internal {
namespace {

// Due times up to this moment are too late to be fired; Time{} if none is.
Time MissedUntil(const FirePlan& plan, const TaskOptions& options, const FireSituation& at,
                 bool more_due) {
    Time until{};
    if (options.start_deadline > Duration(0) && !TAKT_MUTANT("engine.forget_deadlines"))
        until = at.now - options.start_deadline;
    switch (options.misfire) {
        case Misfire::kSkip:
            if (TAKT_MUTANT("engine.skip_nothing")) return until;
            return std::max(until, at.now - at.tolerance - Duration(1));
        case Misfire::kFireOnce: {
            if (!more_due || TAKT_MUTANT("engine.once_is_all")) return until;
            // Only the last of several is fired.
            if (at.more_behind) return std::max(until, at.until);
            const auto all = DueBetween(plan, at.due - Duration(1), at.until, kMissedCountMax);
            return std::max(until, all->last - Duration(1));
        }
        case Misfire::kFireAll: {
            // Late is a due time with others behind it, or one that others were made up for before.
            // One that is due at this very moment is on time, whatever went before.
            const bool late = more_due || at.caught_up > 0;
            if (TAKT_MUTANT("engine.catch_up_none") && late)
                return std::max(until, at.now - Duration(1));
            if (!late || at.caught_up < options.misfires_max || TAKT_MUTANT("engine.catch_up_all"))
                return until;
            return std::max(until, at.now - Duration(1));
        }
    }
    return until;
}

}  // namespace

FireDecision DecideFire(const FirePlan& plan, const TaskOptions& options, const FireSituation& at) {
    // A fixed delay has no due times of its own to go through: after this one it begins anew.
    const bool after_end = plan.after_end();
    const auto following = after_end ? std::nullopt : plan.Next(at.due);
    const bool more_due = at.more_behind || (following && *following <= at.until);
    const Time missed_until = std::min(MissedUntil(plan, options, at, more_due), at.until);
    if (at.due > missed_until) {
        return {.missed = std::nullopt,
                .caught_up = more_due ? at.caught_up + 1 : 0,
                .next_after = after_end ? at.now : at.due};
    }
    DueTimes missed{.first = at.due, .last = at.due, .count = 1};
    if (!after_end) {
        const auto counted = DueBetween(plan, at.due - Duration(1), missed_until, kMissedCountMax);
        missed = counted.value_or(missed);
    }
    // The cap counts on over the due times behind.
    return {.missed = missed,
            .caught_up = at.more_behind ? at.caught_up : 0,
            .next_after = after_end ? at.now : missed.last};
}

}  // namespace takt::internal
