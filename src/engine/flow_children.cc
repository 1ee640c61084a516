// Children of a step are made: a bounded number a step, each batch moving the stored cursor together
// with the children it makes.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/engine.h"
#include "engine/run_values.h"

namespace takt::internal {
namespace {

// Children that one run makes before it is another one's turn.
constexpr std::uint32_t kChildrenPerTurn = 16;

// Whether the options of a run's task have something that its steps take over.
bool Bequeaths(const TaskOptions& owner) {
    return owner.retry || !owner.labels.empty() || !owner.metadata.empty() ||
           !owner.trace.empty() || !owner.trace_state.empty();
}

// Whether a child of the step can have the locks that its task declares. A workflow was checked when it
// was made; a task that a step names, and what that consists of, is only known now. kConflict: the
// run holds locks, and not these.
Result<void> MayDeclareLocks(const Run& run, const WorkflowStep& step, const Task& task) {
    const std::vector<LockWant>& locks = task.opt().locks;
    if (locks.empty()) return {};
    if (const Live* holder = LockingRun(&run)) {
        const std::string why = WhyNotHeld(holder->row.task->opt().locks, locks);
        if (why.empty()) return {};
        return Fail(ErrorCode::kConflict, "it " + why);
    }
    if (!step.each_worker) return {};
    return Fail(ErrorCode::kInvalid, "its task declares locks, and cannot run on each worker");
}

}  // namespace

// The task that the children of a step share: the step alone, with what it leaves open filled in by
// the run's task.
const TaskPtr& Engine::TaskOfStep(Run& run, std::uint32_t number) {
    TaskPtr& shared = run.steps[number].task;
    const WorkflowStep& step = run.step(number);
    if (shared && step.named.empty()) return shared;
    if (!step.named.empty()) {
        if (const auto found = tasks_.find(step.named); found != tasks_.end()) {
            shared = found->second->row.task;
        }
        TAKT_CHECK(shared);
        return shared;
    }
    const Task& owner = *run.live->row.task;
    auto task = NewTaskPtr(new Task(*step.task));
    task->id = owner.id;
    task->version = owner.version;
    task->created_at = owner.created_at;
    task->updated_at = owner.updated_at;
    if (task->queue.empty()) task->queue = owner.queue;
    task->priority = step.priority.value_or(owner.priority);
    if (task->options || Bequeaths(owner.opt())) {
        auto options = std::make_unique<TaskOptions>(task->opt());
        if (!options->retry) options->retry = owner.opt().retry;
        if (options->labels.empty()) options->labels = owner.opt().labels;
        if (options->metadata.empty()) options->metadata = owner.opt().metadata;
        options->trace = owner.opt().trace;
        options->trace_state = owner.opt().trace_state;
        task->options = *options == TaskOptions{} ? nullptr : std::move(options);
    }
    shared = std::move(task);
    return shared;
}

// Makes as many children as there is room for now. Goes on when some of them have ended.
void Engine::MakeChildren(Run& run, std::uint32_t number) {
    const WorkflowStep& step = run.step(number);
    StepProgress& progress = run.progress.steps[number];
    RunStep& state = run.steps[number];
    if (progress.cursor >= progress.total || state.unfinished >= UnfinishedMax(step)) return;
    if (!GatherValues(run, number)) return;
    if (!step.for_each.empty() && !state.items() && !ListItems(run, number)) return;
    if (step.backfill && !KnowExisting(run, number)) return;
    for (std::uint32_t made = 0; progress.status == StepStatus::kRunning;) {
        while (progress.cursor < progress.total && progress.succeeded.Has(progress.cursor)) {
            ++progress.cursor;
        }
        if (progress.cursor >= progress.total || state.unfinished >= UnfinishedMax(step)) break;
        if (draft_.Tired() || made++ >= kChildrenPerTurn) {
            MoveRun(run);
            break;
        }
        if (step.backfill && !state.values->existing[progress.cursor]) {
            MoveRun(run);
            break;
        }
        if (step.backfill && PassExisting(run, number)) continue;
        const std::uint32_t index = progress.cursor++;
        WriteRun(run);
        MakeChild(run, number, index);
    }
    if (progress.cursor >= progress.total) {
        progress.workers.clear();
        state.DropItems();
    } else if (state.items() && state.items()->json.size() > kRunCacheBytes && !run.moving) {
        // It comes back when there is room for many.
        state.DropItems();
    }
    // Nothing had to be made, and so nothing will end.
    const bool idle = progress.cursor >= progress.total && state.unfinished == 0;
    if (idle && progress.status == StepStatus::kRunning) OnStepMoved(run, number);
}

void Engine::MakeChild(Run& run, std::uint32_t number, std::uint32_t index) {
    const WorkflowStep& step = run.step(number);
    Execution row = NewChild(run, number, index);
    if (auto may = MayDeclareLocks(run, step, *row.task); !may) {
        const bool refused = may.error().code == ErrorCode::kInvalid;
        return FailChild(AddChild(run, number, std::move(row)),
                         refused ? Reason::kStepRefused : Reason::kLockNotHeld,
                         Text(may.error().detail));
    }
    if (step.each_worker && !row.task->workflow() && IsLimited(*row.task)) {
        return FailChild(AddChild(run, number, std::move(row)), Reason::kStepRefused,
                         "its task has a concurrency or rate limit, and cannot run on each worker");
    }
    if (step.backfill) {
        row.scheduled_at = DueOf(run, number, index);
        row.id = BackfillId(row.task->id, row.scheduled_at);
        row.origin = Origin::kBackfill;
        Live& live = AddChild(run, number, std::move(row));
        Write(live, Place::kLive, true);
        ++counters_.submitted;
        return AwaitTime(live);
    }
    if (step.each_worker) row.worker = WorkerId(run.progress.steps[number].workers[index]);
    row.scheduled_at = row.ready_at = now_.wall + step.task->opt().delay;
    auto payload = PayloadOf(run, number, index);
    if (!payload) {
        const bool missing = payload.error().code == ErrorCode::kNotFound;
        return FailChild(AddChild(run, number, std::move(row)),
                         missing ? Reason::kValueMissing : Reason::kStepRefused,
                         Text(payload.error().detail));
    }
    if (*payload != row.task->payload) row.payload = *payload;
    Live& live = AddChild(run, number, std::move(row));
    Write(live, Place::kLive, true);
    ++counters_.submitted;
    AwaitTime(live);
}

Execution Engine::NewChild(Run& run, std::uint32_t number, std::uint32_t index) {
    const WorkflowStep& step = run.step(number);
    Execution row;
    row.serial = draft_.NextSerial();
    row.id =
        ChildId(run.live->row.id, {.step = number, .index = index, .round = run.progress.round});
    row.task = TaskOfStep(run, number);
    row.origin = Origin::kStep;
    row.parent = run.live->row.id;
    row.step = step.task->name;
    row.shard_index = step.fans_out() ? index : 0;
    row.shard_total = step.fans_out() ? run.progress.steps[number].total : 0;
    row.round = run.progress.round;
    row.created_at = row.scheduled_at = row.ready_at = now_.wall;
    return row;
}

Live& Engine::AddChild(Run& run, std::uint32_t number, Execution row) {
    Live& live = InsertExecution(std::move(row), Place::kNone);
    LinkChild(run, number, live);
    if (!IsRun(live)) run.fresh = &live;
    if (IsOwned(live.row)) Link(live, OwnerOf(live.row.task));
    Emit(EventType::kTaskSubmitted, live);
    return live;
}

void Engine::LinkChild(Run& run, std::uint32_t number, Live& live) {
    if (IsRun(live)) {
        live.flow->parent = &run;
        live.flow->progress.depth = run.progress.depth + 1;
    } else {
        live.flow = &run;
    }
    live.child = static_cast<std::uint32_t>(run.children.size()) & (kChildPlaces - 1);
    live.step = number & (kStepPlaces - 1);
    run.children.push_back(&live);
    ++run.steps[number].unfinished;
}

// A child that can never run ends as soon as it is made: so it is seen, with the reason.
void Engine::FailChild(Live& live, Reason reason, Text why) {
    Unqueue(live);
    FinishExecution(live, Status::kFailed, MakeOutcome(reason, std::move(why)));
}

// The step as a whole can never run: one child stands for it.
void Engine::MakeRefused(Run& run, std::uint32_t number, Reason reason, Text why) {
    StepProgress& progress = run.progress.steps[number];
    progress.cursor = progress.total;
    if (!run.step(number).named.empty() && !tasks_.contains(run.step(number).named)) {
        // There is no task to make an execution of: the step itself says why.
        ++progress.failed;
        progress.note = why;
        WriteRun(run);
        return OnStepMoved(run, number);
    }
    WriteRun(run);
    FailChild(AddChild(run, number, NewChild(run, number, 0)), reason, std::move(why));
}

}  // namespace takt::internal
