// Runs of recurring tasks: made, kept in order, replaced, ended with their task.
#include <algorithm>
#include <utility>

#include "base/failpoint.h"
#include "engine/engine.h"

namespace takt::internal {

// Makes a run of a recurring task, as far as its mode lets it. Returns the execution as it is now.
Execution Engine::Fire(Recurring& recurring, const FireRequest& request) {
    const TaskPtr task = recurring.row.task;
    const TaskOptions& options = task->opt();
    Execution row;
    if (request.execution.empty()) {
        auto [serial, id] = FreshId();
        row.serial = serial;
        row.id = ExecutionId(std::move(id));
    } else {
        row.serial = draft_.NextSerial();
        row.id = request.execution;
    }
    row.task = task;
    row.origin = request.origin;
    row.payload = request.payload;
    row.created_at = now_.wall;
    row.scheduled_at = row.ready_at = request.due;
    const Duration jitter = options.recurrence->jitter;
    if (request.origin == Origin::kFire && jitter > Duration(0) &&
        !TAKT_MUTANT("engine.no_jitter")) {
        row.ready_at += Duration(std::int64_t(random_.Below(
            std::uint64_t(jitter.count()) * (TAKT_MUTANT("engine.wide_jitter") ? 3 : 1) + 1)));
    }
    if (options.mode == Mode::kReplace && !TAKT_MUTANT("engine.replace_nothing") &&
        !request.force && !recurring.runs.empty()) {
        Replace(recurring, row.serial);
    }
    const bool busy = !request.force && !recurring.runs.empty();
    // All but those that have a turn or need none; also those whose jitter is not over yet.
    const std::size_t ahead = recurring.turns ? std::size_t{recurring.turns->taken} -
                                                    recurring.stopping + recurring.forced
                                              : 0;
    const bool backlog_full = options.mode == Mode::kSequential &&
                              recurring.runs.size() >= ahead + options.backlog_max &&
                              !TAKT_MUTANT("engine.endless_backlog");
    // Nobody waits for an answer who could try again later.
    const bool queue_full = lanes_.QueueOf(task->queue).waiting >= config_.pending_max;
    const bool skip = queue_full || TAKT_MUTANT("engine.skip_every_fire") ||
                      (busy && !TAKT_MUTANT("engine.ignore_skip_mode") &&
                       (options.mode == Mode::kSkip || backlog_full));
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

// A new run takes the place of those there are. As many as one step may end are ended now; that the
// others are to be is written with the new run, so that the next leader knows it too.
void Engine::Replace(Recurring& recurring, Serial by) {
    recurring.row.state.replaced_below = by;
    if (EndReplaced(recurring)) return;
    replacing_.push_back(recurring.row.task->id);
    Write(recurring);
}

// Whether all are ended. Looks for each anew: whoever ends one may feed a worker, and so end others
// that have expired.
bool Engine::EndReplaced(Recurring& recurring) {
    Serial& below = recurring.row.state.replaced_below;
    while (!draft_.Tired()) {
        const auto older = std::ranges::find_if(recurring.runs, [&](const Live* run) {
            return run->row.serial < below && !IsEnding(*run);
        });
        if (older == recurring.runs.end()) {
            below = 0;
            return true;
        }
        EndNow(**older, Status::kCancelled,
               MakeOutcome(Reason::kReplaced, "a newer run of the task took its place"));
    }
    return false;
}

// Goes on with what earlier steps, or an earlier leader, could not end.
void Engine::ContinueReplacing() {
    for (; !draft_.Tired() && !replacing_.empty(); replacing_.pop_front()) {
        const auto task = tasks_.find(replacing_.front().text());
        if (task == tasks_.end() || task->second->row.state.replaced_below == 0) continue;
        if (!EndReplaced(*task->second)) return;
        Write(*task->second);
    }
}

// Ends the runs that have not begun, as many as one step may; true if none is left. What has begun
// goes on, also between attempts, unless a newer run took its place.
bool Engine::CancelWaitingRuns(Recurring& recurring) {
    const Serial below = recurring.row.state.replaced_below;
    for (std::size_t i = 0; i < recurring.runs.size();) {
        Live& run = *recurring.runs[i];
        const bool waits = IsWaiting(run.row.status) && !Begun(run.row);
        if (IsEnding(run) || (!waits && run.row.serial >= below)) {
            ++i;
            continue;
        }
        if (draft_.Tired()) return false;
        EndNow(run, Status::kCancelled, MakeOutcome(Reason::kCancelled, "its task was deleted"));
    }
    return true;
}

bool IsOwned(const Execution& row) {
    if (row.origin == Origin::kFire || row.origin == Origin::kTrigger) return true;
    const bool made_by_run = row.origin == Origin::kBackfill || row.origin == Origin::kStep;
    return made_by_run && row.task->recurring() && row.task->opt().mode == Mode::kSequential;
}

// A task, or one that is deleted and has runs; null if there is neither.
Recurring* Engine::FindRecurring(const Text& id) const {
    if (const auto found = tasks_.find(id); found != tasks_.end()) return found->second.get();
    const auto deleted = deleted_.find(id);
    return deleted == deleted_.end() ? nullptr : deleted->second.get();
}

// The task that keeps a run in order. One that is deleted goes on doing so while it has runs, also
// under a new leader, who knows it only from them.
Recurring& Engine::OwnerOf(const TaskPtr& task) {
    const Text& id = task->id.text();
    if (const auto found = tasks_.find(id); found != tasks_.end()) return *found->second;
    auto& deleted = deleted_[id];
    const bool is_new = !deleted;
    if (is_new) {
        deleted = std::make_unique<Recurring>();
        deleted->order = ++tasks_made_;
        deleted->deleted = true;
    }
    if (!deleted->row.task || deleted->row.task->version < task->version) {
        deleted->row.task = task;
        if (deleted->turns) holds_.SetTurnsAtOnce(*deleted->turns, deleted->TurnsAtOnce());
    }
    if (is_new) TakeTurnsAgain(*deleted);
    return *deleted;
}

// Nobody may need them any more, nor the task if it is deleted.
void Engine::DropTurns(Recurring& recurring) {
    if (!recurring.runs.empty() || recurring.stopping > 0) return;
    holds_.Forget(*recurring.turns);
    recurring.turns.reset();
    if (recurring.deleted) deleted_.erase(Text(recurring.row.task->id.text()));
}

void Engine::Link(Live& live, Recurring& recurring) {
    live.recurring = &recurring;
    live.run = static_cast<std::uint32_t>(recurring.runs.size());
    recurring.runs.push_back(&live);
    recurring.forced += live.forced ? 1 : 0;
    recurring.EnsureTurns();
    awaited_.Add(live);
    // A stored row brings a copy of its task; usually it is the one everybody shares. A task that
    // was deleted and made again has the same versions, but was made at another time, or, within a
    // millisecond, as something else.
    const Task& own = *live.row.task;
    const Task& shared = *recurring.row.task;
    if (own.version == shared.version && own.created_at == shared.created_at &&
        (&own == &shared || SameRequest(own, shared))) {
        live.row.task = recurring.row.task;
        // The steps of the copy go with it.
        if (IsRun(live)) live.flow->workflow = live.row.task->workflow();
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
    if (!recurring.runs.empty()) return;
    const bool deleted = recurring.deleted;
    DropTurns(recurring);
    if (deleted) return;
    const auto& recurrence = recurring.row.task->opt().recurrence;
    if (recurrence->every_after_end > Duration(0) && recurring.row.state.next_at == Time{} &&
        !TAKT_MUTANT("engine.delay_never_ends")) {
        PlanFrom(recurring, now_.wall);
        Write(recurring);
    }
}

}  // namespace takt::internal
