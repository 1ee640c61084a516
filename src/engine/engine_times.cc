// Times of an execution: whether it may wait for one, and when it is too late to start.
#include <algorithm>

#include "base/failpoint.h"
#include "engine/engine.h"

namespace takt::internal {

bool NeedsClock(const Execution& row) {
    if (row.status == Status::kRetrying) return true;
    if (row.attempt > 0 || row.origin == Origin::kTrigger) return false;
    if (row.origin == Origin::kFire) return row.task->opt().recurrence->jitter > Duration(0);
    // The delay is the step's, which its task need not know.
    if (row.origin == Origin::kStep) {
        return row.scheduled_at > row.created_at && row.ready_at == row.scheduled_at;
    }
    return row.task->run_at != Time{} ? row.ready_at == row.task->run_at
                                      : row.ready_at == row.created_at + row.task->opt().delay &&
                                            row.task->opt().delay > Duration(0);
}

// How long it waits at most, if it waits for a while (delay, retry, jitter); nothing if it waits for
// a moment, or for none.
std::optional<Duration> Engine::WaitOf(const Execution& row) const {
    const TaskOptions& options = row.task->opt();
    if (row.status == Status::kRetrying) return RetryDelay(RetryOf(*row.task), row.failures);
    if (row.origin == Origin::kFire) {
        return options.recurrence ? std::optional(options.recurrence->jitter) : std::nullopt;
    }
    if (row.origin == Origin::kStep) {
        return std::max(row.scheduled_at - row.created_at, Duration(0));
    }
    return row.task->run_at == Time{} ? std::optional(options.delay) : std::nullopt;
}

// When a restored execution may start, by the wall clock as it stands now: the time that is written,
// but what waits for a while has done so since this term began at least, whatever clock gave that time.
Time Engine::ReadyAt(const Live& live) const {
    const auto wait = WaitOf(live.row);
    if (!wait) return live.row.ready_at;
    return std::min(live.row.ready_at, now_.wall + std::max(*wait - clock_.age(), Duration(0)));
}

// When it is too late to start; nothing if it never is. A retry has what is left of its time. What
// somebody runs again has it anew: a fire that is run again keeps its due time, so that is told by
// when it may start, and, once an attempt has failed, by when the first of them began.
std::optional<Time> Engine::ExpiryOf(const Execution& row) const {
    const Duration expires_after = row.task->opt().expires_after;
    if (expires_after <= Duration(0) || TAKT_MUTANT("engine.forget_expiry")) return std::nullopt;
    if (row.origin == Origin::kBackfill) return row.ready_at + expires_after;
    if (row.origin != Origin::kFire) return row.scheduled_at + expires_after;
    if (row.failures == 0) return row.ready_at + expires_after;
    // By how much its jitter delayed it is not stored.
    const auto& recurrence = row.task->opt().recurrence;
    const Time due = row.scheduled_at + (recurrence ? recurrence->jitter : Duration(0));
    const Time expiry = due + expires_after;
    const auto again = FirstFailureSinceRedrive(row, expiry);
    return again ? std::max(expiry, *again + expires_after) : expiry;
}

// The same by the wall clock as it stands now: by that an execution that is ready has its deadline.
// Expiry cannot be undone, so it follows the trusted time; but what was made by a clock that is ahead
// is judged by that clock, or it would have that much more time. Nobody has longer than it says: what
// was made by a clock that was ahead and came back has its whole time once more.
std::optional<Time> Engine::StartBy(const Execution& row) const {
    const auto expiry = ExpiryOf(row);
    if (!expiry) return std::nullopt;
    const Duration whole = row.task->opt().expires_after;
    const bool ahead = clock_.GivenAhead(*expiry - whole);
    return now_.wall + std::min(*expiry - (ahead ? now_.wall : clock_.trusted()), whole);
}

bool Engine::Expired(const Execution& row) const {
    const auto deadline = StartBy(row);
    return deadline && *deadline <= now_.wall;
}

// The same of one that is ready: its deadline is its timer, which is set anew whenever the clocks part.
bool Engine::IsTooLate(const Live& live) const {
    return live.armed() && due_.TimeOf(live) <= now_.wall;
}

}  // namespace takt::internal
