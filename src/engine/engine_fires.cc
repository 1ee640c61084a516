// Fires: when recurring tasks are due, what is made up for and what is missed. The runs that they
// become are engine_runs.cc.
#include <algorithm>
#include <utility>

#include "base/failpoint.h"
#include "base/log.h"
#include "engine/engine.h"
#include "engine/misfire.h"
#include "engine/passed_over.h"

namespace takt::internal {
namespace {

// A last due time further ahead than this is a clock's mistake that an operator has to see mended.
constexpr Duration kFarAhead{24 * 3'600'000};

// Finding the next due time costs a step as much as writing this.
constexpr std::size_t kPlanBytes = 1024;

}  // namespace

// Sets the next due time to the first one after `after`.
void Engine::PlanFrom(Recurring& recurring, Time after) {
    const Recurrence& recurrence = *recurring.row.task->opt().recurrence;
    FireState& state = recurring.row.state;
    const auto plan = FirePlan::Make(recurrence, recurring.row.task->created_at);
    if (!plan) {
        // The stored time stays: a task without a next due time would never fire again.
        TellUnplanned(recurring, plan.error());
        recurring.replan_after = after;
        return Arm(recurring);
    }
    recurring.replan_after = {};
    awaited_.NotePlanned(recurring);
    std::optional<Time> next;
    if (plan->after_end()) {
        // The first run is at once, or at its start; each later one waits for the end of the last.
        if (recurring.runs.empty()) {
            next = state.last_at == Time{} ? plan->First(after) : plan->Next(after);
        }
    } else {
        next = NextDue(*plan, state, after);
        if (next && TAKT_MUTANT("engine.skip_due_times")) next = NextDue(*plan, state, *next);
    }
    if (recurrence.fires_max != 0 && state.fires >= recurrence.fires_max) next.reset();
    state.next_at = next.value_or(Time{});
    Arm(recurring);
}

void Engine::Arm(Recurring& recurring) {
    const FireState& state = recurring.row.state;
    const bool replan = recurring.replan_after != Time{};
    if (state.paused || (state.next_at == Time{} && !replan)) {
        fires_.Remove(recurring);
    } else {
        fires_.Set(recurring, replan ? now_.wall + kPlanRetry : state.next_at, recurring.order);
    }
}

// An operator gives the task other times or resumes it: its next due time is the first one from now
// on. Those that a clock ahead of this one fired already do not come again, unless that clock was
// so wrong that the task would be silent for days.
void Engine::PlanFromNow(Recurring& recurring) {
    FireState& state = recurring.row.state;
    if (state.last_at > now_.wall + kFarAhead) {
        state.first_at = std::min(state.first_at, now_.wall);
        state.passed = {{.from = now_.wall, .to = state.last_at}};
    }
    PlanFrom(recurring, now_.wall);
}

// A clock that ran ahead came back, here or with another leader: a task whose next due time lies
// beyond others that are now to come is planned anew by the steps to come, a bounded number each.
void Engine::PlanAgain() {
    for (auto& [id, recurring] : tasks_) {
        const FireState& state = recurring->row.state;
        const bool due = state.next_at != Time{} && state.next_at <= now_.wall;
        if (state.paused || due) continue;
        if (MayComeBefore(recurring->row, now_.wall)) {
            fires_.Set(*recurring, now_.wall, recurring->order);
        }
    }
}

// Written to the log rather than sent as an event: nothing became of an execution yet.
void Engine::TellUnplanned(Recurring& recurring, const Error& error) {
    if (!awaited_.NoteUnplanned(recurring)) return;
    Log(LogLevel::kError, "engine",
        "a task's due times cannot be found; it does not fire until they can, and then by its "
        "misfire policy",
        {{"task", recurring.row.task->id.view()}, {"error", error.detail}});
}

// A due time has come. Each call carries out one decision: accounts for it, and perhaps for others
// that came and went while nobody could fire them, and moves on to the next.
void Engine::OnFire(Recurring& recurring) {
    const Task& task = *recurring.row.task;
    const TaskOptions& options = task.opt();
    FireState& state = recurring.row.state;
    const auto plan = FirePlan::Make(*options.recurrence, task.created_at);
    if (!plan) {
        TellUnplanned(recurring, plan.error());
        return fires_.Set(recurring, now_.wall + kPlanRetry, recurring.order);
    }
    const Time due = state.next_at;
    const bool set_back = due > now_.wall || due == Time{};
    const auto open = plan->after_end() ? OpenStretch{.last = Time::max()} : FindOpen(state, due);
    // A clock that was behind is right again: nobody was to fire what was due before the task was made.
    const bool before_made =
        !plan->after_end() && due <= task.created_at && now_.wall >= task.created_at;
    // A clock that was behind is right again: what is on record as missed is not made up for.
    const bool over =
        !set_back && open && open->missed && now_.wall - due > config_.misfire_tolerance;
    const bool replan = recurring.replan_after != Time{};
    // Without a stretch: the leader that accounted for that due time could not find the one after it.
    if (replan || set_back || !open || before_made || over) {
        PlanFrom(recurring, replan        ? recurring.replan_after
                            : set_back    ? now_.wall
                            : before_made ? task.created_at
                            : over        ? std::min(open->last, now_.wall)
                                          : due);
        if (state.next_at != due) return Write(recurring);
        return draft_.Spend(kPlanBytes);
    }
    awaited_.NotePlanned(recurring);
    // All that is overdue is one, however many fires of a backfill or of another clock lie in between.
    const bool more_behind =
        AnyDueBehind(*plan, state, open->last, now_.wall, config_.misfire_tolerance);
    const FireDecision decision = DecideFire(*plan, options,
                                             {.due = due,
                                              .now = now_.wall,
                                              .until = std::min(now_.wall, open->last),
                                              .more_behind = more_behind,
                                              .tolerance = config_.misfire_tolerance,
                                              .caught_up = recurring.caught_up});
    recurring.caught_up = decision.caught_up;
    if (!decision.missed) {
        if (plan->after_end()) {
            state.last_at = std::max(state.last_at, due);
        } else {
            TakeDue(*plan, state, due);
        }
        if (open->missed && state.missed > 0) --state.missed;
        ++state.fires;
        ++counters_.fired;
        Fire(recurring, {.due = due});
    } else if (!open->missed) {  // Else they are on record already.
        RecordMissed(recurring, *decision.missed, Reason::kMissed);
    }
    PlanFrom(recurring, decision.next_after);
    if (decision.missed || !TAKT_MUTANT("engine.forget_fires")) Write(recurring);
}

// The task gets other times, or is paused or resumed: what is overdue, or became due while it was
// paused, will not be fired any more.
void Engine::MissOverdue(Recurring& recurring) {
    const FireState& state = recurring.row.state;
    if (state.next_at == Time{} || state.next_at > now_.wall) return;
    const Task& task = *recurring.row.task;
    // A fixed delay has no due times of its own: it begins anew when the pause ends.
    if (state.paused && task.opt().recurrence->every_after_end > Duration(0)) return;
    const Reason reason = state.paused ? Reason::kPaused : Reason::kMissed;
    const auto plan = FirePlan::Make(*task.opt().recurrence, task.created_at);
    if (!plan || plan->after_end()) {
        // Without a plan the others cannot be counted; the record at least says from when on.
        const DueTimes first{.first = state.next_at, .last = state.next_at, .count = 1};
        return RecordMissed(recurring, first, reason);
    }
    // None was due before it was made.
    const Time made = now_.wall >= task.created_at ? task.created_at : Time{};
    Time after = std::max(state.next_at - Duration(1), made);
    // In between a backfill, or a clock that was ahead, may have run some: then there are several
    // stretches, at most as many as the book has.
    for (auto due = NextDue(*plan, state, after); due && *due <= now_.wall;
         due = NextDue(*plan, state, after)) {
        const OpenStretch open = FindOpen(state, *due).value();
        const Time until = std::min(open.last, now_.wall);
        const auto counted = DueBetween(*plan, *due - Duration(1), until, kMissedCountMax);
        after = counted->last;
        if (!open.missed) RecordMissed(recurring, *counted, reason);  // Else it is on record.
    }
}

// Due times that nobody fired leave one record for all of them, so that days of downtime cost no
// more than a second of it.
void Engine::RecordMissed(Recurring& recurring, const DueTimes& due, Reason reason) {
    const bool paused = reason == Reason::kPaused;
    FireState& state = recurring.row.state;
    const Recurrence& recurrence = *recurring.row.task->opt().recurrence;
    const auto plan = FirePlan::Make(recurrence, recurring.row.task->created_at);
    if (plan && !plan->after_end()) {
        const PassedOver stretch{.from = due.first, .to = due.last, .missed = true};
        PassOver(*plan, state, stretch, clock_.settled());
    }
    state.last_at = std::max(state.last_at, due.last);
    state.missed += due.count;
    // A person who watches this number wants to know what went wrong; a pause was somebody's wish.
    if (!paused) counters_.missed += due.count;
    if (TAKT_MUTANT("engine.forget_missed")) return;
    auto [serial, id] = FreshId();
    Execution row;
    row.serial = serial;
    row.id = ExecutionId(std::move(id));
    row.task = recurring.row.task;
    row.origin = Origin::kFire;
    row.status = Status::kSkipped;
    row.created_at = row.finished_at = now_.wall;
    row.scheduled_at = row.ready_at = due.first;
    const std::string which = due.count == 1
                                  ? "its due time"
                                  : (due.more ? "more than " : "") + std::to_string(due.count) +
                                        " due times up to " + FormatTime(due.last);
    const char* why = paused           ? "the task was paused"
                      : due.count == 1 ? "nobody could fire it"
                                       : "nobody could fire them";
    row.outcome = MakeOutcome(reason, which + " passed while " + why);
    draft_.Append(ExecutionChange{Place::kNone, Place::kHistory, row});
    draft_.MakeUrgent();
    ++counters_.skipped;
    retention_.CountFinished();
    draft_.Emit(Event{.type = EventType::kTaskSkipped,
                      .task = row.task->id,
                      .execution = row.id,
                      .detail = row.outcome->message});
}

}  // namespace takt::internal
