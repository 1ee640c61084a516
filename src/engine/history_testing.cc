// The fixture's own workings; the histories are in the other files.
#include "engine/history.h"

#include <algorithm>
#include <array>
#include <utility>

namespace takt::internal {

// --- Time ---------------------------------------------------------------------------------------

Instant History::InstantAt(Duration at) const {
    // Not at zero: a steady clock may start anywhere.
    return {WallAt(at), Steady(std::chrono::hours(7)) + at};
}

void History::Begin(Duration at) {
    ++epoch_;
    engine_ = std::make_unique<Engine>(config, TermView{0, epoch_}, SeedOf(epoch_));
    for (const auto& [key, value] : store.settings) engine_->RestoreSetting(key, value);
    for (const auto& [id, worker] : store.workers) engine_->RestoreWorker(worker);
    for (const auto& [id, task] : store.tasks) engine_->RestoreTask(task);
    for (const auto& [key, value] : store.records) {
        engine_->RestoreRecord({key.first, key.second, value});
    }
    std::vector<const Execution*> rows;
    for (const auto& [id, row] : store.executions) {
        if (row.place == Place::kLive) rows.push_back(&row.execution);
    }
    std::ranges::sort(rows, {}, &Execution::serial);
    for (const Execution* row : rows) engine_->RestoreExecution(*row);
    effects_ = {};
    engine_->Begin(last_serial_, InstantAt(at), effects_);
    changes_in_largest_step_ = std::max(changes_in_largest_step_, effects_.changes.size());
    Release(at);
}

Engine& History::engine() {
    if (!engine_) Begin(now_);
    return *engine_;
}

void History::At(Duration at, Input input) {
    engine();
    Until(at);
    Step(at, std::move(input));
}

void History::Until(Duration at) {
    engine();
    ASSERT_GE(at, now_) << "a history does not go back";
    for (int ticks = 0; tick_between; ++ticks) {
        const auto wait = engine_->NextDeadline(InstantAt(now_));
        if (!wait || now_ + *wait > at) break;
        ASSERT_LT(ticks, kTicksMax) << "the engine never rests";
        now_ += *wait;
        Step(now_, Tick{});
    }
    now_ = at;
}

void History::Step(Duration at, Input input) {
    now_ = at;
    const std::size_t before = effects_.changes.size();
    engine_->Step(std::move(input), InstantAt(at), effects_);
    changes_in_largest_step_ = std::max(changes_in_largest_step_, effects_.changes.size() - before);
    std::size_t bytes = 0;
    for (std::size_t i = before; i < effects_.changes.size(); ++i) {
        bytes += SizeOf(effects_.changes[i]);
    }
    bytes_in_largest_step_ = std::max(bytes_in_largest_step_, bytes);
    if (!gathering_) Release(at);
}

void History::Commit() {
    gathering_ = false;
    Release(now_);
}

void History::Release(Duration at) {
    Effects done = std::exchange(effects_, Effects{});
    effects_.generation = done.generation + 1;
    changes_in_last_commit_ = done.changes.size();
    store.Apply(done.changes);
    last_serial_ = engine_->last_serial();
    const auto append = [](auto& to, auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    for (const Assign& assign : done.assigns) {
        const ModelStore::Row* row = store.Find(assign.execution.id);
        ASSERT_TRUE(row) << "an attempt was sent that is not stored";
        EXPECT_EQ(row->execution.attempt, assign.execution.attempt);
    }
    engine_->NoteReleased(done, InstantAt(at));
    append(assigns, done.assigns);
    append(stops, done.stops);
    append(verdicts, done.verdicts);
    append(lock_verdicts, done.lock_verdicts);
    append(closes, done.closes);
    append(drains, done.drains);
    append(capacities, done.capacities);
    append(lookups, done.lookups);
    append(events, done.events);
    append(logs, done.logs);
    for (Reply& reply : done.replies) {
        Result<Execution> answer = Fail(ErrorCode::kCancelled, "");
        if (reply.answer) {
            if (reply.answer->lock) lock_replies[reply.request] = *reply.answer->lock;
            if (reply.answer->task.task) task_replies[reply.request] = reply.answer->task;
            answer = std::move(reply.answer->execution);
        } else {
            answer = std::unexpected(reply.answer.error());
        }
        EXPECT_TRUE(replies.emplace(reply.request, std::move(answer)).second)
            << "a question was answered twice";
    }
    if (!answer_lookups) return;
    for (const Lookup& lookup : done.lookups) {
        LookupDone answer{lookup.ids, {}};
        for (const ExecutionId& id : lookup.ids) {
            const ModelStore::Row* row = store.Find(id);
            answer.found.push_back(row ? std::optional(row->execution) : std::nullopt);
        }
        Step(at, std::move(answer));
    }
}

void History::Restart(Duration at) {
    engine();
    Until(at);
    gathering_ = false;
    Begin(at);
}

void History::RestartWithoutStore(Duration at) {
    engine();
    Until(at);
    store = {};
    last_serial_ = 0;
    gathering_ = false;
    Begin(at);
}

// --- Inputs -------------------------------------------------------------------------------------

Submit History::Once(OnceSpec spec) {
    auto task = NewTaskPtr(new Task);
    if (!spec.id.empty()) task->id = TaskId(Text(spec.id));
    task->name = spec.name;
    task->type = spec.type;
    task->queue = spec.queue;
    task->payload = spec.payload;
    task->priority = spec.priority;
    task->timeout = spec.timeout;
    if (spec.run_at > Duration(0)) task->run_at = kBegin + spec.run_at;
    auto options = std::make_unique<TaskOptions>();
    options->retry = spec.retry;
    options->strategy = spec.strategy;
    options->delay = spec.delay;
    options->expires_after = spec.expires_after;
    options->labels = std::move(spec.labels);
    options->target = spec.target;
    options->strategy_name = spec.strategy_name;
    options->unique_key = spec.unique_key;
    options->unique_for = spec.unique_for;
    options->concurrency_key = spec.concurrency_key;
    options->concurrency_max = spec.concurrency_max;
    options->rate = spec.rate;
    options->locks = std::move(spec.locks);
    if (*options != TaskOptions{}) task->options = std::move(options);
    return {++request_, std::move(task)};
}

Cancel History::CancelOf(const std::string& id) {
    return {++request_, ExecutionId(Text(id)), "not needed"};
}

Redrive History::RedriveOf(const std::string& id) {
    return {++request_, ExecutionId(Text(id))};
}

PutTask History::Put(RecurringSpec spec) {
    const auto time = [](Duration at) { return at > Duration(0) ? kBegin + at : Time{}; };
    auto task = NewTaskPtr(new Task);
    task->id = TaskId(Text(spec.id));
    task->name = spec.id;
    task->type = "work";
    task->queue = spec.queue;
    task->payload = spec.payload;
    auto options = std::make_unique<TaskOptions>(std::move(spec.options));
    options->recurrence = Recurrence{.cron = spec.cron,
                                     .every = spec.every,
                                     .every_after_end = spec.after_end,
                                     .start_at = time(spec.start_at),
                                     .end_at = time(spec.end_at),
                                     .fires_max = spec.fires_max,
                                     .jitter = spec.jitter,
                                     .excluded_dates = std::move(spec.excluded_dates)};
    task->options = std::move(options);
    return {.request = ++request_,
            .task = std::move(task),
            .create_only = spec.create_only,
            .if_version = spec.if_version};
}

DeleteTask History::Drop(const std::string& task) {
    return {++request_, TaskId(Text(task)), 0};
}
Trigger History::TriggerOf(const std::string& task, std::string payload, bool force) {
    return {++request_, TaskId(Text(task)), Text(payload), force};
}
SetQueue History::Limit(const std::string& queue, QueueLimits limits) {
    return {++request_, Text(queue), limits.paused, limits.working_max, limits.rate};
}
SetStrategy History::Use(Strategy strategy, std::string name) {
    return {.request = ++request_, .strategy = strategy, .name = Text(name)};
}

void History::Down(Duration until) {
    engine();
    now_ = until;
    gathering_ = false;
    Begin(until);
}

Attach History::Join(WorkerSpec spec) {
    Worker worker;
    worker.id = WorkerId(Text(spec.id));
    worker.link = spec.link;
    worker.capacity = spec.capacity;
    worker.weight = spec.weight;
    worker.instance = spec.instance;
    worker.types = std::move(spec.types);
    worker.queues = std::move(spec.queues);
    worker.labels = std::move(spec.labels);
    worker.group = spec.group;
    sessions_[spec.id] = ++session_;
    return {session_, std::move(worker), std::move(spec.holding)};
}

SessionId History::SessionOf(const std::string& worker) const {
    const auto found = sessions_.find(worker);
    return found == sessions_.end() ? 0 : found->second;
}

SetWorkerStatus History::Set(const std::string& worker, WorkerStatus status) {
    return {++request_, WorkerId(Text(worker)), status, "maintenance window"};
}
RemoveWorker History::Remove(const std::string& worker, bool force) {
    return {++request_, WorkerId(Text(worker)), force};
}

Started History::Begun(const std::string& id) {
    return {SessionOf(Row(id).worker.text().str()), RefOf(id)};
}

Report History::ReportOf(const AttemptRef& attempt, const std::string& worker, bool success) {
    auto outcome = boost::intrusive_ptr<Outcome>(new Outcome);
    outcome->reason = success ? Reason::kNone : Reason::kHandlerFailed;
    outcome->message = success ? "" : "it did not work";
    return {SessionOf(worker), attempt, success, true, outcome};
}

Report History::Success(const std::string& id) {
    return ReportOf(RefOf(id), Row(id).worker.text().str(), true);
}

Report History::Failure(const std::string& id, bool retryable) {
    Report report = ReportOf(RefOf(id), Row(id).worker.text().str(), false);
    report.retryable = retryable;
    return report;
}

// --- Looking ------------------------------------------------------------------------------------

const Result<Execution>& History::LastReply() {
    static const Result<Execution> kNone = Fail(ErrorCode::kCancelled, "no reply");
    const auto found = replies.find(request_);
    EXPECT_TRUE(found != replies.end()) << "no reply to the last question";
    return found == replies.end() ? kNone : found->second;
}

const Execution& History::Row(const std::string& id) {
    static const Execution kNone;
    const ModelStore::Row* row = store.Find(ExecutionId(Text(id)));
    EXPECT_TRUE(row) << "nothing is stored under " << id;
    return row ? row->execution : kNone;
}

Status History::StatusOf(const std::string& id) {
    const Execution* live = engine().FindExecution(ExecutionId(Text(id)));
    return live ? live->status : Row(id).status;
}

AttemptRef History::RefOf(const std::string& id) {
    const Execution& row = Row(id);
    return {row.id, row.attempt, row.token};
}

const TaskRow& History::TaskOf(const std::string& id) {
    static const TaskRow kNone;
    const auto found = store.tasks.find(TaskId(Text(id)));
    EXPECT_TRUE(found != store.tasks.end()) << "no task is stored under " << id;
    return found == store.tasks.end() ? kNone : found->second;
}

std::vector<const Execution*> History::RunsOf(const std::string& task) const {
    std::vector<const Execution*> runs;
    for (const auto& [id, row] : store.executions) {
        const Execution& execution = row.execution;
        if (execution.task->id.view() != task || !execution.parent.empty()) continue;
        runs.push_back(&execution);
    }
    std::ranges::sort(runs, {}, &Execution::serial);
    return runs;
}

std::vector<std::int64_t> History::DueOf(const std::string& task,
                                         std::optional<Status> status) const {
    std::vector<std::int64_t> due;
    for (const Execution* run : RunsOf(task)) {
        if (!status || run->status == *status) due.push_back((run->scheduled_at - kBegin).count());
    }
    return due;
}

std::string History::RunOf(const std::string& task, std::size_t index) const {
    const auto runs = RunsOf(task);
    EXPECT_LT(index, runs.size()) << task << " has no such run";
    return index < runs.size() ? runs[index]->id.text().str() : "";
}

void History::FinishAll(Duration at) {
    Until(at);
    std::vector<std::string> ids;
    for (const auto& [id, row] : store.executions) {
        const Status status = row.execution.status;
        if (IsWorking(status)) {
            ids.push_back(id.text().str());
        }
    }
    for (const std::string& id : ids) At(at, Success(id));
}

std::string History::CodeOf(const std::string& id) {
    const auto explanation = engine().Explain(ExecutionId(Text(id)), InstantAt(now_));
    EXPECT_TRUE(explanation) << id << " is not held";
    return explanation ? std::string(explanation->code) : "";
}

std::vector<std::string> History::AssignedIds() const {
    std::vector<std::string> ids;
    for (const Assign& assign : assigns) ids.push_back(assign.execution.id.text().str());
    return ids;
}

std::vector<std::string> History::AssignedWorkers() const {
    std::vector<std::string> ids;
    for (const Assign& assign : assigns) ids.push_back(assign.execution.worker.text().str());
    return ids;
}

std::size_t History::HandOf(const std::string& worker) {
    const auto view = engine().FindWorker(WorkerId(Text(worker)));
    return view ? view->in_hand : 0;
}

std::size_t History::EventCount(EventType type) const {
    return std::size_t(std::ranges::count(events, type, &Event::type));
}

}  // namespace takt::internal
