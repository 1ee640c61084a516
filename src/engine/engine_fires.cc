// Fires: when recurring tasks are due, what a fire becomes, what is made up for and what is missed.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "engine/engine.h"
#include "engine/misfire.h"

namespace takt::internal {
namespace {

// How long until due times that cannot be found (tzdata is missing) are looked for again.
constexpr Duration kPlanRetry{60'000};

}  // namespace

// Sets the next due time to the first one after `after`.
void Engine::PlanFrom(Recurring& recurring, Time after) {
    const Recurrence& recurrence = *recurring.row.task->opt().recurrence;
    FireState& state = recurring.row.state;
    const auto plan = FirePlan::Make(recurrence, recurring.row.task->created_at);
    if (!plan) {
        // What is stored stays: a task without a next due time would never fire again.
        TellUnplanned(recurring, plan.error());
        recurring.replan_after = after;
        return Arm(recurring);
    }
    recurring.replan_after = {};
    recurring.told = false;
    std::optional<Time> next;
    if (plan->after_end()) {
        // The first run is at once, or at its start; each later one waits for the end of the last.
        if (recurring.runs.empty()) {
            next = state.last_at == Time{} ? plan->First(after) : plan->Next(after);
        }
    } else {
        // A clock that was set back, or that of another leader, must not bring due times again.
        next = plan->Next(std::max(after, state.last_at));
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

// Written to the log rather than sent as an event: nothing became of an execution yet.
void Engine::TellUnplanned(Recurring& recurring, const Error& error) {
    if (std::exchange(recurring.told, true)) return;
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
    // Whoever accounted for that due time could not find the one after it.
    const bool accounted_for = !plan->after_end() && due <= state.last_at;
    if (recurring.replan_after != Time{} || accounted_for) {
        const bool replan = recurring.replan_after != Time{};
        PlanFrom(recurring, replan ? recurring.replan_after : state.last_at);
        return Write(recurring);
    }
    recurring.told = false;
    const FireDecision decision = DecideFire(*plan, options,
                                             {.due = due,
                                              .now = now_.wall,
                                              .tolerance = config_.misfire_tolerance,
                                              .caught_up = recurring.caught_up});
    recurring.caught_up = decision.caught_up;
    if (decision.missed) {
        RecordMissed(recurring, *decision.missed, Reason::kMissed);
    } else {
        state.last_at = due;
        ++state.fires;
        ++counters_.fired;
        Fire(recurring, {.due = due});
    }
    PlanFrom(recurring, decision.next_after);
    if (decision.missed || !config_.sabotage.forget_fires) Write(recurring);
}

// The task gets other times, or is paused or resumed: what is overdue, or became due while it was
// paused, will not be fired any more.
void Engine::MissOverdue(Recurring& recurring) {
    const FireState& state = recurring.row.state;
    if (state.next_at == Time{} || state.next_at > now_.wall) return;
    const Task& task = *recurring.row.task;
    // A fixed delay has no due times of its own: it begins anew when the pause ends.
    if (state.paused && task.opt().recurrence->every_after_end > Duration(0)) return;
    DueTimes missed{.first = state.next_at, .last = state.next_at, .count = 1};
    const auto plan = FirePlan::Make(*task.opt().recurrence, task.created_at);
    // Without a plan the others cannot be counted; the record at least says from when on.
    if (plan && !plan->after_end()) {
        const auto counted =
            DueBetween(*plan, state.next_at - Duration(1), now_.wall, kMissedCountMax);
        if (counted) missed = *counted;
    }
    RecordMissed(recurring, missed, state.paused ? Reason::kPaused : Reason::kMissed);
}

// Due times that nobody fired leave one record for all of them, so that days of downtime cost no
// more than a second of it.
void Engine::RecordMissed(Recurring& recurring, const DueTimes& due, Reason reason) {
    const bool paused = reason == Reason::kPaused;
    FireState& state = recurring.row.state;
    state.last_at = due.last;
    state.missed += due.count;
    // Who watches this number wants to know what went wrong; a pause was somebody's wish.
    if (!paused) counters_.missed += due.count;
    if (config_.sabotage.forget_missed) return;
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

// Makes a run of a recurring task, as far as its mode lets it. Returns the execution as it is now.
Execution Engine::Fire(Recurring& recurring, const FireRequest& request) {
    const TaskPtr task = recurring.row.task;
    const TaskOptions& options = task->opt();
    auto [serial, id] = FreshId();
    Execution row;
    row.serial = serial;
    row.id = ExecutionId(std::move(id));
    row.task = task;
    row.origin = request.origin;
    row.payload = request.payload;
    row.created_at = now_.wall;
    row.scheduled_at = row.ready_at = request.due;
    const Duration jitter = options.recurrence->jitter;
    if (request.origin == Origin::kFire && jitter > Duration(0)) {
        row.ready_at += Duration(std::int64_t(random_.Below(std::uint64_t(jitter.count()) + 1)));
    }
    if (options.mode == Mode::kReplace && !request.force) {
        for (const Live* live : recurring.runs) replaced_.push_back(live->row.id);
        EndReplaced();
    }
    const bool busy = !request.force && !recurring.runs.empty();
    // All but those that have a turn or need none; also those whose jitter is not over yet.
    const std::size_t ahead =
        recurring.turns ? std::size_t{recurring.turns->taken} + recurring.forced : 0;
    const bool backlog_full =
        options.mode == Mode::kSequential && recurring.runs.size() >= ahead + options.backlog_max;
    // Nobody waits for an answer who could try again later.
    const bool queue_full = lanes_.QueueOf(task->queue).waiting >= config_.pending_max;
    const bool skip = queue_full || (busy && (options.mode == Mode::kSkip || backlog_full));
    Live& live = InsertExecution(std::move(row), Place::kNone);
    live.forced = request.force;
    Link(live, recurring);
    Emit(EventType::kTaskSubmitted, live);
    if (skip) {
        Unqueue(live);
        FinishExecution(
            live, Status::kSkipped,
            MakeOutcome(Reason::kSkipped, queue_full     ? "its queue was full"
                                          : backlog_full ? "too many runs wait for their turn"
                                                         : "the previous run was still going"));
        return live.row;
    }
    Write(live, Place::kLive, true);
    ++counters_.submitted;
    AwaitTime(live);
    return live.row;
}

// Ends the runs whose place a newer one takes, as many as one step may; the others in later ones.
// By their ids: whoever ends one may feed a worker, and so end others that have expired.
void Engine::EndReplaced() {
    for (; !draft_.Tired() && !replaced_.empty(); replaced_.pop_front()) {
        Live* live = FindLive(replaced_.front());
        if (!live) continue;
        EndNow(*live, Status::kCancelled,
               MakeOutcome(Reason::kReplaced, "a newer run of the task took its place"));
    }
}

void Engine::Link(Live& live, Recurring& recurring) {
    live.recurring = &recurring;
    live.run = static_cast<std::uint32_t>(recurring.runs.size());
    recurring.runs.push_back(&live);
    recurring.forced += live.forced ? 1 : 0;
    if (!recurring.turns) {
        recurring.turns = std::make_unique<Hold>();
        recurring.turns->order = recurring.order;
        recurring.turns->permits_max = recurring.TurnsAtOnce();
    }
    // A stored row brings a copy of its task; usually it is the one everybody shares. A task that
    // was deleted and made again has the same versions, but was made at another time.
    const Task& own = *live.row.task;
    const Task& shared = *recurring.row.task;
    if (own.version == shared.version && own.created_at == shared.created_at) {
        live.row.task = recurring.row.task;
    }
}

// A run of the task is finished: the next in turn may go, and a fixed delay begins.
void Engine::OnRunEnded(Live& live) {
    Recurring& recurring = *live.recurring;
    // The last one takes its place.
    recurring.runs.back()->run = live.run;
    recurring.runs[live.run] = recurring.runs.back();
    recurring.runs.pop_back();
    recurring.forced -= live.forced ? 1 : 0;
    if (live.has_turn) holds_.ReturnTurn(*recurring.turns);
    if (recurring.runs.empty()) {
        holds_.Forget(*recurring.turns);
        recurring.turns.reset();
    }
    const auto& recurrence = recurring.row.task->opt().recurrence;
    if (recurrence->every_after_end > Duration(0) && recurring.runs.empty() &&
        recurring.row.state.next_at == Time{}) {
        PlanFrom(recurring, now_.wall);
        Write(recurring);
    }
}

}  // namespace takt::internal
