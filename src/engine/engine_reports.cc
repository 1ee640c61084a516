// News of attempts that are under way: they were sent, began, wrote, ended, or took too long.
#include <algorithm>
#include <utility>

#include "base/failpoint.h"
#include "engine/engine.h"

namespace takt::internal {
namespace {

// How often one is looked at that should be over, and of which nothing can be known yet.
constexpr Duration kLookAgain{1'000};
// A batch that was released this long after its first decision was late.
constexpr Duration kReleasedLate{500};

// An earlier leader may have known when the attempt began, and died before it wrote it down. The
// worker knows for how long it had been running at `then`; it can say no more than that it began at
// once.
void NoteBegan(Execution& row, Duration ran, Time then) {
    const Duration age = std::max(Duration(0), then - row.created_at);
    const Time began = then - std::clamp(ran, Duration(0), age);
    if (row.started_at == Time{} || began < row.started_at) row.started_at = began;
}

}  // namespace

void Engine::OnOverdue(Live& live) {
    if (IsRun(live)) {
        overdue_.Remove(live);
        return EndRun(*live.flow, {.status = Status::kFailed,
                                   .reason = Reason::kTimeout,
                                   .message = Text("took longer than its timeout of " +
                                                   FormatDuration(live.row.task->timeout)),
                                   .data = {}});
    }
    // Decided, but not sent: its commit is still under way, or its service has as many calls open as
    // it may. Its time has not begun.
    const bool unsent =
        live.mark.generation > released_generation_ || live.slot->row.link == LinkKind::kPush;
    // Its worker is away, or cut off: it may come back with a result that it had in time; if not, it is
    // lost with its lease. A service says nothing by itself.
    const Slot& slot = *live.slot;
    const bool away = slot.row.link == LinkKind::kStream && IsUnheard(slot) &&
                      !TAKT_MUTANT("engine.time_out_absent");
    // This process slept, or was kept busy: the answer may lie unread in a socket.
    const bool late = now_.steady - overdue_.TimeOf(live) > kLookAgain;
    if ((live.row.status == Status::kScheduled && unsent) || away || late) {
        return overdue_.Set(live, now_.steady + kLookAgain, live.row.serial);
    }
    StopAtWorker(live, Reason::kTimeout);
    Slot& free = TakeFromHand(live);
    FailAttempt(live,
                MakeOutcome(Reason::kTimeout, "took longer than its timeout of " +
                                                  FormatDuration(TimeoutOf(*live.row.task))),
                true);
    FeedWorker(free);
}

bool Engine::IsUnheard(const Slot& slot) const {
    return slot.session == 0 ||
           leases_.TimeOf(slot) - config_.worker_lease < now_.steady - config_.timeout_grace;
}

void Engine::NoteReleased(const Effects& effects, Instant now) {
    released_generation_ = std::max(released_generation_, effects.generation);
    // Within the grace it makes no difference.
    if (now.steady - effects.begun_at < std::min(kReleasedLate, config_.timeout_grace)) return;
    for (const StopAttempt& stop : effects.stops) {
        StoppingHandler* handler = leftovers_.Find(stop.attempt);
        if (!handler || handler->over) continue;
        leftovers_.due.Set(*handler, now.steady + config_.timeout_grace, handler->order);
    }
    for (const Assign& assign : effects.assigns) {
        Live* live = FindLive(assign.execution.id);
        const bool waits = live && live->row.status == Status::kScheduled &&
                           live->row.token == assign.execution.token;
        if (!waits) continue;
        const Duration timeout = assign.timeout + config_.timeout_grace;
        overdue_.Set(*live, now.steady + timeout, live->row.serial);
    }
}

void Engine::On(Started& started) {
    Live* live = FindCurrent(started.attempt);
    if (!live) {
        ++counters_.stale;
        draft_.Send(StopAttempt{started.session, started.attempt, Reason::kCancelled});
        return;
    }
    if (live->row.status != Status::kScheduled) return;
    MoveTo(*live, Status::kRunning);
    NoteBegan(live->row, started.ran, now_.wall);
    const Duration timeout = TimeoutOf(*live->row.task);
    Duration left = timeout - std::clamp(started.ran, Duration(0), timeout);
    if (TAKT_MUTANT("engine.slow_timeouts")) left *= 10;
    if (TAKT_MUTANT("engine.early_timeouts")) left /= 8;
    overdue_.Set(*live, now_.steady + left + config_.timeout_grace, live->row.serial);
    // Not worth a commit: whoever takes over learns from the worker that it runs.
    Write(*live, Place::kLive, false);
    Emit(EventType::kTaskStarted, *live);
}

void Engine::On(Report& report) {
    Live* live = FindCurrent(report.attempt);
    if (!live) {
        EndLingering(report.attempt, report.session);
        return JudgeRepeated(report);
    }
    draft_.Send(Verdict{report.session, report.attempt, true});
    // A report of an attempt that ended while nobody led comes later. It ended within its own life,
    // whatever clocks say.
    const Duration age = std::max(Duration(0), now_.wall - live->row.created_at);
    const Time said = now_.wall - std::clamp(report.ended_ago, Duration(0), age);
    NoteBegan(live->row, report.ran, said);
    const Time ended = std::max(said, live->row.started_at);
    Slot& slot = TakeFromHand(*live);
    if (report.success) {
        FinishExecution(*live, Status::kSuccess, std::move(report.outcome), ended);
    } else {
        FailAttempt(*live, std::move(report.outcome), report.retryable, ended);
    }
    if (!TAKT_MUTANT("engine.hungry_workers")) FeedWorker(slot);
}

void Engine::On(Progress& progress) {
    if (const Live* live = FindCurrent(progress.attempt)) {
        outputs_.SetProgress(live->row, progress, now_.wall);
    }
}

void Engine::On(LogLines& lines) {
    if (const Live* live = FindCurrent(lines.attempt); live && !TAKT_MUTANT("engine.lose_lines")) {
        outputs_.AppendLines(live->row, lines.lines, draft_);
    }
}

}  // namespace takt::internal
