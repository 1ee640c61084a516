#include "sim/planner.h"

#include <array>
#include <memory>
#include <utility>

#include "sim/kinds.h"

namespace takt::internal::sim {

constexpr std::array<const char*, 2> kQueues{"default", "bulk"};

void SimPlanner::Ask(std::function<Input()> make, bool insist,
                     std::function<void(const Answer&)> done) {
    if (insist) ++pending_;
    client_.Ask(make(), [this, make, insist, done](const Result<Answer>& result) {
        if (insist) --pending_;
        if (result) return done(*result);
        const ErrorCode code = result.error().code;
        const bool final = code == ErrorCode::kNotFound || code == ErrorCode::kConflict ||
                           code == ErrorCode::kInvalid;
        if (!insist || final) return;
        ++pending_;
        cluster_.world.After(cluster_.world.Between(100ms, 800ms), nullptr, [this, make, done] {
            --pending_;
            Ask(make, true, done);
        });
    });
}

// --- Tasks --------------------------------------------------------------------------------------

Recurrence SimPlanner::AnyRecurrence(bool quiet) {
    World& world = cluster_.world;
    constexpr std::array<const char*, 4> kCrons{"* * * * * *", "*/2 * * * * *", "1-59/3 * * * * *",
                                                "@every 2s"};
    Recurrence recurrence;
    switch (world.Below(3)) {
        case 0:
            recurrence.cron = kCrons[world.Below(kCrons.size())];
            break;
        case 1:
            recurrence.every = Duration(1'000 + world.Below(3'000));
            break;
        default:
            recurrence.every_after_end = Duration(200 + world.Below(2'000));
            break;
    }
    if (const ZoneChange* zone = cluster_.traits.zone; zone && world.Chance(0.6)) {
        recurrence = {};
        recurrence.cron = AnyCronAround(world, *zone);
        recurrence.timezone = zone->zone;
        recurrence.dst = Dst(world.Below(3));
    }
    if (world.Chance(0.3)) recurrence.jitter = Duration(world.Below(1'500));
    if (world.Chance(0.2)) recurrence.fires_max = 1 + world.Below(20);
    if (!quiet && world.Chance(0.2)) {
        recurrence.end_at = world.wall() + Duration(5'000 + world.Below(30'000));
    }
    return recurrence;
}

TaskOptions SimPlanner::AnyOptions(bool quiet) {
    World& world = cluster_.world;
    TaskOptions options;
    options.recurrence = AnyRecurrence(quiet);
    options.retry = RetryPolicy{.retries_max = std::uint32_t(world.Below(3)),
                                .delay = Duration(100 + world.Below(1'000)),
                                .delay_max = Duration(3'000)};
    options.mode = quiet ? Mode(world.Below(3)) : Mode(world.Below(4));
    options.misfire = Misfire(world.Below(3));
    options.misfires_max = std::uint32_t(world.Below(5));
    options.backlog_max = 1 + std::uint32_t(world.Below(5));
    if (world.Chance(0.2)) options.start_deadline = Duration(500 + world.Below(4'000));
    options.catch_up_after_pause = world.Chance(0.3);
    if (!quiet && world.Chance(0.2)) options.expires_after = Duration(500 + world.Below(4'000));
    if (cluster_.traits.kinds) {
        Kind kind = AnyKind(world);
        options.labels = kind.labels;
        options.target = kind.target;
        // For MakeOne, which is asked for the same task again.
        options.metadata = {{"type", kind.type}};
    }
    if (cluster_.traits.strategies && world.Chance(0.5)) options.strategy = AnyStrategy(world);
    switch (world.Below(6)) {
        case 0:
            options.concurrency_key = "two-at-once";
            options.concurrency_max = 2;
            break;
        case 1:
            options.concurrency_max = 2;  // For its own runs.
            break;
        case 2:
            options.rate = {.count = 2, .per = Duration(3'000)};
            break;
        default:
            break;
    }
    return options;
}

NewTaskPtr SimPlanner::MakeOne(const TaskId& id, const TaskOptions& options) {
    auto task = NewTaskPtr(new Task);
    task->id = id;
    task->name = id.text();
    task->type = options.metadata.empty() ? Text("work") : options.metadata.front().second;
    task->queue = kQueues[id.view().back() % 2];
    task->timeout = 3s;
    task->options = std::make_unique<TaskOptions>(options);
    return task;
}

void SimPlanner::MakeTask(bool quiet) {
    const TaskId id(Text("task-" + std::to_string(made_.size() + 1)));
    made_.push_back(id);
    Create(id, AnyOptions(quiet));
}

void SimPlanner::Create(const TaskId& id, const TaskOptions& options) {
    cluster_.world.Note("planner", "makes", id.view());
    Ask([this, id, options] { return PutTask{.task = MakeOne(id, options), .create_only = true}; },
        true, [this](const Answer& answer) { cluster_.checker.fires.OnTold(answer.task); });
}

// Sometimes its times, sometimes something else. Its mode and limits stay: what began under others
// goes on under them.
void SimPlanner::Change(const TaskId& id) {
    const TaskRow* row = cluster_.checker.fires.Find(id);
    if (!row) return;
    cluster_.world.Note("planner", "changes", id.view());
    TaskOptions options = row->task->opt();
    if (cluster_.world.Chance(0.5)) {
        options.recurrence = AnyRecurrence(false);
    } else {
        options.misfire = Misfire(cluster_.world.Below(3));
    }
    Ask([this, id, options] { return PutTask{.task = MakeOne(id, options)}; }, false,
        [this](const Answer& answer) { cluster_.checker.fires.OnTold(answer.task); });
}

void SimPlanner::Pause(const TaskId& id, bool paused, bool insist) {
    cluster_.world.Note("planner", paused ? "pauses" : "resumes", id.view());
    const auto make = [this, id, paused] {
        cluster_.checker.fires.OnPauseAsked(id);
        return PauseTask{0, id, paused};
    };
    Ask(make, insist, [](const Answer&) {});
}

void SimPlanner::Trigger(const TaskId& id, bool force) {
    cluster_.world.Note("planner", "triggers", id.view());
    Ask([id,
         force] { return internal::Trigger{0, id, force ? Text(kForcedPayload) : Text(), force}; },
        false, [this](const Answer& answer) { cluster_.checker.OnSubmitted(answer.execution); });
}

void SimPlanner::Delete(const TaskId& id) {
    const TaskRow* row = cluster_.checker.fires.Find(id);
    if (!row) return;
    cluster_.world.Note("planner", "deletes", id.view());
    const auto runs = cluster_.world.Chance(0.5) ? RunsOfDeleted::kKeep : RunsOfDeleted::kCancel;
    Ask([id, runs] { return DeleteTask{.task = id, .runs = runs}; }, false, [](const Answer&) {});
    // Sometimes it is wanted back, as another task under the same id.
    if (cluster_.world.Chance(0.5)) Create(id, row->task->opt());
}

TaskId SimPlanner::AnyTask() {
    if (made_.empty() || cluster_.world.Chance(0.05)) return TaskId(Text("nothing"));
    return made_[cluster_.world.Below(made_.size())];
}

void SimPlanner::DoSomething() {
    World& world = cluster_.world;
    const TaskId id = AnyTask();
    switch (world.Below(10)) {
        case 0:
        case 1:
            return Pause(id, true, false);
        case 2:
        case 3:
            return Pause(id, false, false);
        case 4:
        case 5:
            return Trigger(id, world.Chance(0.3));
        case 6:
            return Change(id);
        case 7:
            return world.Chance(0.5) ? Delete(id) : MakeTask(false);
        default: {
            QueueLimits limits;
            limits.paused = world.Chance(0.4);
            if (world.Chance(0.5)) limits.working_max = 1 + std::uint32_t(world.Below(3));
            if (world.Chance(0.3)) limits.rate = {.count = 3, .per = Duration(2'000)};
            const std::string queue = kQueues[world.Below(kQueues.size())];
            LimitQueue(queue, limits, false);
            // Nobody leaves a queue shut for long, also if it was shut by a word that came late.
            world.After(world.Between(500ms, 5s), nullptr,
                        [this, queue] { LimitQueue(queue, {}, true); });
        }
    }
}

void SimPlanner::LimitQueue(const std::string& queue, const QueueLimits& limits, bool insist) {
    cluster_.world.Note("planner", limits.paused ? "pauses queue" : "limits queue", queue,
                        limits.working_max);
    Ask(
        [queue, limits] {
            return SetQueue{0, Text(queue), limits.paused, limits.working_max, limits.rate};
        },
        insist, [](const Answer&) {});
}

// --- The end ------------------------------------------------------------------------------------

void SimPlanner::OpenQueues() {
    for (const char* queue : kQueues) LimitQueue(queue, {}, true);
}

void SimPlanner::PauseAll() {
    for (const TaskId& id : made_) Pause(id, true, true);
}

}  // namespace takt::internal::sim
