// Backfill: executions for past due times of a recurring task, as the children of a run with one step.
// A child's id is spelled from the task and its due time, so that asking twice makes it once.
#include <algorithm>
#include <utility>

#include "base/failpoint.h"
#include "engine/engine.h"
#include "engine/passed_over.h"

namespace takt::internal {
namespace {

// Due times that the store is asked about at once.
constexpr std::uint32_t kAskedAtOnce = 32;

}  // namespace

// Whether it is known of the next due times if they have an execution; else the store is being asked.
bool Engine::KnowExisting(Run& run, std::uint32_t number) {
    if (run.awaited > 0) return false;
    const StepProgress& progress = run.progress.steps[number];
    auto& existing = run.steps[number].Values().existing;
    existing.resize(progress.total);
    if (existing[progress.cursor]) return true;
    const std::uint32_t end = std::min(progress.total, progress.cursor + kAskedAtOnce);
    const TaskId task = TaskOfStep(run, number)->id;
    for (std::uint32_t i = progress.cursor; i < end; ++i) {
        const ExecutionId id = BackfillId(task, DueOf(run, number, i));
        if (existing[i] || FindLive(id)) {
            existing[i] = existing[i].value_or(true);
            continue;
        }
        ++run.awaited;
        AskStore(id, DueWanted{run.live->row.id, number, i, id});
    }
    return run.awaited == 0;
}

void Engine::On(DueWanted& wanted) {
    const ExecutionId id = wanted.id;
    AskStore(id, std::move(wanted));
}

void Engine::AnswerTo(const DueWanted& wanted, const std::optional<Execution>& found) {
    Live* live = FindLive(wanted.run);
    if (!live || !IsRun(*live) || live->flow->awaited == 0) return;
    Run& run = *live->flow;
    --run.awaited;
    auto& existing = run.steps[wanted.step].Values().existing;
    if (wanted.index < existing.size()) {
        existing[wanted.index] = found.has_value() || FindLive(wanted.id) != nullptr;
    }
    if (run.awaited == 0) MoveRun(run);
}

// Passes over a due time that has its execution. REQUIRES: it is known.
bool Engine::PassExisting(Run& run, std::uint32_t number) {
    StepProgress& progress = run.progress.steps[number];
    const bool existing = run.steps[number].Values().existing[progress.cursor].value();
    // Another backfill may have made it since the store was asked.
    const TaskId& task = TaskOfStep(run, number)->id;
    const bool live = FindLive(BackfillId(task, DueOf(run, number, progress.cursor))) != nullptr;
    if (!existing && !live) return false;
    progress.succeeded.Set(progress.cursor++);
    ++progress.success;
    WriteRun(run);
    return true;
}

// From now on the due times are the backfill's: the task's own schedule fires none of them, also if it
// is made to catch up with what it missed. All at once, so that it cannot run one that is yet to come.
void Engine::TakeDueTimes(Run& run, std::uint32_t number) {
    const auto found = tasks_.find(run.step(number).named);
    if (found == tasks_.end() || TAKT_MUTANT("engine.forget_backfills")) return;
    Recurring& recurring = *found->second;
    const Task& task = *recurring.row.task;
    FireState& state = recurring.row.state;
    const auto plan = FirePlan::Make(*task.opt().recurrence, task.created_at);
    if (!plan || plan->after_end()) return;
    bool taken = false;
    for (std::uint32_t i = 0; i < run.progress.steps[number].total; ++i) {
        const Time due = DueOf(run, number, i);
        // By the times that the task has now it may be none.
        if (plan->Next(due - Duration(1)) != due || !FindOpen(state, due)) continue;
        TakeDue(*plan, state, due);
        taken = true;
    }
    if (!taken) return;
    if (state.next_at != Time{} && !FindOpen(state, state.next_at)) {
        PlanFrom(recurring, state.next_at);
    }
    Write(recurring);
}

}  // namespace takt::internal
