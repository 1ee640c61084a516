// The engine's frame: inputs in, questions about ids it does not hold, effects out.
#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace takt::internal {
namespace {

// While executions finish, what retention no longer keeps is purged about once a second, along with
// a commit that happens anyway, and twice as fast as new ones finish: with every commit, if a purge
// may not delete more than finish between two of them.
constexpr Duration kCleaningPace{1'000};
constexpr std::uint64_t kPurgeMin = 1'000;
// At rest, each cleanup_interval: what finished long ago goes on growing old.
constexpr std::uint64_t kPurgeIdle = 10'000;

// What is to be purged within this time is not run again: the purge may be on its way.
constexpr Duration kRedriveMargin{60'000};

// Ids of the form that the engine gives are refused if it could come to give them within this time:
// longer than finished ones are usually kept. Those beyond are too far away to matter, and may be
// meant: a Unix time in milliseconds has the same form.
constexpr Duration kOwnIds{366LL * 86'400'000};

// What makes a live row impossible to go on with; null if nothing does.
const char* Nonsense(const Execution& row) {
    if (row.task->priority > kPriorityMax) return "its stored priority is above 9";
    const bool working = row.status == Status::kScheduled || row.status == Status::kRunning;
    if (working && row.worker.empty()) return "it is stored as at work, but not with whom";
    return nullptr;
}

}  // namespace

Engine::Engine(const EngineConfig& config, TermView term, const RandomSeed& seed)
    : config_(config),
      term_(term),
      random_(seed),
      serials_(term.partition, 0),
      strategy_(config.strategy),
      strategy_name_(config.strategy_name) {}

Engine::~Engine() {
    for (Live* live : live_) delete live;
}

void Engine::RestoreWorker(Worker worker) {
    auto slot = std::make_unique<Slot>();
    slot->order = ++joined_;
    slot->row = std::move(worker);
    const Text key = slot->row.id.text();
    FindLanes(*slot);
    workers_.emplace(key, std::move(slot));
}

void Engine::RestoreExecution(Execution execution) {
    TAKT_CHECK(!begun_);
    // A store gives a row that it cannot read as a failed one; that is what becomes of it, and of
    // one that makes no sense.
    if (const char* why = IsTerminal(execution.status) ? nullptr : Nonsense(execution)) {
        execution.status = Status::kFailed;
        execution.outcome = MakeOutcome(Reason::kUndecodable, Text(why));
    }
    if (IsTerminal(execution.status)) return unreadable_.push_back(std::move(execution));
    if (config_.sabotage.forget_failures_on_load) execution.failures = 0;
    Live& live = Insert(std::move(execution), Place::kLive);
    live.forced = config_.sabotage.forget_turns_on_load;
    const auto task = tasks_.find(live.row.task->id.text());
    if (live.row.origin != Origin::kOnce && task != tasks_.end()) Link(live, *task->second);
    if (!config_.sabotage.forget_keys_on_load) HoldKey(live.row);
    restored_.push_back(&live);
}

void Engine::Begin(Serial last_serial, Instant now, Effects& effects) {
    TAKT_CHECK(!begun_);
    begun_ = true;
    now_ = now;
    effects_ = &effects;
    cleaned_at_ = gates_cleaned_at_ = now.steady;
    serials_ = SerialSource(term_.partition, last_serial);
    // Loading a million executions in serial order keeps the age order of their lanes. Nothing can
    // be assigned yet: no worker is connected.
    changes_limit_ = SIZE_MAX;
    // Those at work first: what is still to start must find their places taken.
    const auto working = [](const Live* live) {
        return live->row.status == Status::kScheduled || live->row.status == Status::kRunning;
    };
    for (Live* live : restored_) {
        if (working(live)) Settle(*live);
    }
    for (Live* live : restored_) {
        if (!working(live) && Begun(live->row)) Settle(*live);
    }
    for (Live* live : restored_) {
        if (!working(live) && !Begun(live->row)) Settle(*live);
    }
    restored_ = {};
    for (auto& [id, recurring] : tasks_) {
        if (recurring->row.state.next_at == Time{} && recurring->runs.empty()) {
            PlanFrom(*recurring, now.wall);
        }
        Arm(*recurring);
    }
    // A worker whose leader's machine lost its power notices by the silence, after its lease. To
    // expect it earlier would run everything twice that was running then.
    const Duration grace = std::max(config_.takeover_grace, config_.worker_lease);
    for (auto& [id, slot] : workers_) {
        const bool expected = slot->row.status != WorkerStatus::kOffline;
        leases_.Set(*slot, now.steady + (expected ? grace : config_.worker_forgotten), slot->order);
    }
    Emit(Event{.type = EventType::kLeaderChanged});
    effects_ = nullptr;
}

void Engine::Step(Input input, Instant now, Effects& effects) {
    TAKT_CHECK(begun_ && now.steady >= now_.steady);
    now_ = now;
    effects_ = &effects;
    changes_limit_ = effects.changes.size() + config_.changes_per_step;
    step_bytes_ = 0;
    std::visit([this](auto& known) { On(known); }, input);
    RunDue();
    effects_ = nullptr;
}

std::optional<Duration> Engine::NextDeadline(Instant now) const {
    if (!unfinished_.empty() || !unreadable_.empty() || !replaced_.empty()) return Duration(0);
    // Rounded up: a millisecond late is on time, a millisecond early is a wasted wake-up.
    const auto until = [&](Steady at) {
        return std::max(std::chrono::ceil<Duration>(at - now.steady), Duration(0));
    };
    Duration next = until(cleaned_at_ + (MustPurge() ? kCleaningPace : config_.cleanup_interval));
    if (!due_.empty()) next = std::min(next, std::max(due_.next_at() - now.wall, Duration(0)));
    if (!overdue_.empty()) next = std::min(next, until(overdue_.next_at()));
    if (!leases_.empty()) next = std::min(next, until(leases_.next_at()));
    if (!fires_.empty()) next = std::min(next, std::max(fires_.next_at() - now.wall, Duration(0)));
    if (!gate_paces_.empty()) next = std::min(next, until(gate_paces_.next_at()));
    if (!queue_paces_.empty()) next = std::min(next, until(queue_paces_.next_at()));
    return next;
}

void Engine::RunDue() {
    for (; !Tired() && !unreadable_.empty(); unreadable_.pop_back()) Bury(unreadable_.back());
    EndReplaced();
    while (!Tired() && !due_.empty() && due_.next_at() <= now_.wall) OnDue(*due_.next());
    while (!Tired() && !overdue_.empty() && overdue_.next_at() <= now_.steady) {
        OnOverdue(*overdue_.next());
    }
    while (!Tired() && !leases_.empty() && leases_.next_at() <= now_.steady) {
        OnLease(*leases_.next());
    }
    while (!Tired() && !fires_.empty() && fires_.next_at() <= now_.wall) OnFire(*fires_.next());
    while (!Tired() && !gate_paces_.empty() && gate_paces_.next_at() <= now_.steady) {
        OpenGate(*gate_paces_.next());
    }
    while (!Tired() && !queue_paces_.empty() && queue_paces_.next_at() <= now_.steady) {
        Pour(*queue_paces_.next());
    }
    // Each turn either ends a worker's unfinished business or makes the step tired.
    for (std::size_t turns = unfinished_.size(); turns > 0 && !Tired(); --turns) {
        Slot& slot = *unfinished_.front();
        unfinished_.pop_front();
        slot.unfinished = false;
        Continue(slot);
    }
    CleanKeys();
    Clean();
}

// Ends what nobody can run, as if it had failed now: so it is seen, and kept for its time.
void Engine::Bury(Execution& row) {
    row.finished_at = now_.wall;
    const Text why = row.outcome ? row.outcome->message : Text();
    Event event{.type = EventType::kTaskFailed,
                .task = row.task->id,
                .execution = row.id,
                .worker = row.worker,
                .attempt = row.attempt,
                .detail = why};
    Add(ExecutionChange{Place::kLive, Place::kHistory, std::move(row)});
    effects_->urgent = true;
    ++counters_.failed;
    ++purge_owed_;
    Emit(std::move(event));
}

void Engine::Clean() {
    if (now_.steady - gates_cleaned_at_ >= config_.cleanup_interval) {
        gates_cleaned_at_ = now_.steady;
        CleanGates();
    }
    const auto since = now_.steady - cleaned_at_;
    const bool idle_turn = since >= config_.cleanup_interval;
    const bool due = idle_turn || MustPurge() || (purge_owed_ > 0 && since >= kCleaningPace);
    if (!due || Tired()) return;
    cleaned_at_ = now_.steady;
    // One purge a batch: what it cannot do is owed to the next.
    if (purge_mark_.generation == effects_->generation) return;
    if (idle_turn) purge_owed_ = std::max(purge_owed_, kPurgeIdle);
    const auto count =
        std::min<std::uint64_t>(kPurgeMin + 2 * purge_owed_, std::max(config_.purge_max, 1u));
    const Time before = now_.wall - config_.retention;
    purge_mark_ = {effects_->generation, Add(Purge{.finished_before = before,
                                                   .events_before = before,
                                                   .count_max = std::uint32_t(count)})};
    effects_->urgent |= idle_turn || MustPurge();
    purged_before_ = std::max(purged_before_, before);
    purge_owed_ -= std::min(purge_owed_, count);
}

// --- Questions ----------------------------------------------------------------------------------

void Engine::On(Submit& submit) {
    TAKT_CHECK(submit.task && submit.task->priority <= kPriorityMax && !submit.task->queue.empty());
    const TaskId& id = submit.task->id;
    if (id.empty()) return CreateOnce(submit);
    const ExecutionId execution(id.text());
    if (const Live* live = FindLive(execution)) return AnswerTo(submit, live->row);
    if (IsOwnToCome(id.view())) return ReplyWith(submit.request, TakenForOwn());
    Ask(execution, std::move(submit));
}

void Engine::On(Cancel& cancel) {
    Live* live = FindLive(cancel.execution);
    if (!live) {
        const ExecutionId id = cancel.execution;
        return Ask(id, std::move(cancel));
    }
    auto outcome = boost::intrusive_ptr<Outcome>(new Outcome);
    outcome->reason = Reason::kCancelled;
    outcome->message = cancel.reason;
    ReplyWith(cancel.request, Answer{.execution = EndNow(*live, Status::kCancelled, outcome)});
}

void Engine::On(Conclude& conclude) {
    TAKT_CHECK(IsTerminal(conclude.status) && conclude.status != Status::kSkipped);
    Live* live = FindLive(conclude.execution);
    if (!live) {
        const ExecutionId id = conclude.execution;
        return Ask(id, std::move(conclude));
    }
    if (!CanFollow(live->row.status, conclude.status)) {
        return ReplyWith(
            conclude.request,
            internal::Fail(ErrorCode::kConflict, "execution '" + conclude.execution.text().str() +
                                                     "' is " + std::string(Name(live->row.status)) +
                                                     " and cannot become " +
                                                     std::string(Name(conclude.status))));
    }
    ReplyWith(conclude.request,
              Answer{.execution = EndNow(*live, conclude.status, std::move(conclude.outcome))});
}

// Ends an execution wherever it is, without its worker's word.
Execution Engine::EndNow(Live& live, Status status, OutcomePtr outcome) {
    if (!live.slot) {
        Unqueue(live);
        return Finish(live, status, std::move(outcome));
    }
    Stop(live, Reason::kCancelled);
    Slot& slot = LetGo(live);
    Execution row = Finish(live, status, std::move(outcome));
    Feed(slot);
    return row;
}

void Engine::On(Redrive& redrive) {
    if (const Live* live = FindLive(redrive.execution)) return AnswerTo(redrive, live->row);
    const ExecutionId id = redrive.execution;
    Ask(id, std::move(redrive));
}

// Whatever asks about an id while the store is being asked waits its turn, so that two submits of
// one id can never both find it free.
void Engine::Ask(const ExecutionId& id, Question question) {
    auto [entry, first] = questions_.try_emplace(id.text());
    entry->second.push_back(std::move(question));
    if (!first) return;
    if (effects_->lookups.empty()) effects_->lookups.emplace_back();
    effects_->lookups.back().ids.push_back(id);
}

void Engine::On(LookupDone& lookup) {
    TAKT_CHECK(lookup.ids.size() == lookup.found.size());
    for (std::size_t i = 0; i < lookup.ids.size(); ++i) {
        const auto entry = questions_.find(lookup.ids[i].text());
        if (entry == questions_.end()) continue;
        std::vector<Question> questions = std::move(entry->second);
        questions_.erase(entry);
        // What changes an execution is told as an event. From then on the store's answer is old:
        // while the execution lives the engine knows better, and once it ended the store has to be
        // asked again.
        const std::size_t events = effects_->events.size();
        for (Question& question : questions) {
            const bool outdated = effects_->events.size() != events;
            std::visit(
                [&](auto& known) { outdated ? On(known) : AnswerTo(known, lookup.found[i]); },
                question);
        }
    }
}

void Engine::AnswerTo(const Submit& submit, const std::optional<Execution>& found) {
    if (!found) return CreateOnce(submit);
    if (SameRequest(*found->task, *submit.task))
        return ReplyWith(submit.request, Answer{.execution = *found});
    ReplyWith(submit.request,
              internal::Fail(ErrorCode::kConflict,
                             "a task with the id '" + submit.task->id.text().str() +
                                 "' exists already and asks for something else; choose another id",
                             "id"));
}

void Engine::AnswerTo(const Cancel& cancel, const std::optional<Execution>& found) {
    RefuseFinished(cancel.request, cancel.execution, found);
}

void Engine::AnswerTo(const Conclude& conclude, const std::optional<Execution>& found) {
    RefuseFinished(conclude.request, conclude.execution, found);
}

void Engine::RefuseFinished(RequestId request, const ExecutionId& id,
                            const std::optional<Execution>& found) {
    const std::string name = id.text().str();
    if (!found) {
        return ReplyWith(
            request, internal::Fail(ErrorCode::kNotFound, "there is no execution '" + name + "'"));
    }
    ReplyWith(request, internal::Fail(ErrorCode::kConflict,
                                      "execution '" + name + "' is finished already (" +
                                          std::string(Name(found->status)) + ")"));
}

// What is run again keeps its history, the attempt with which it ended included.
static void RememberLast(Execution& row) {
    const Outcome* outcome = row.outcome.get();
    const bool known =
        outcome && !outcome->past.empty() && outcome->past.back().attempt == row.attempt;
    if (row.attempt == 0 || known) return;
    row.outcome = RememberAttempt(
        row,
        {.end = row.status == Status::kCancelled ? AttemptEnd::kCancelled : AttemptEnd::kFailed,
         .reason = outcome ? outcome->reason : Reason::kNone,
         .message = outcome ? outcome->message.view() : "",
         .at = row.finished_at});
}

void Engine::AnswerTo(const Redrive& redrive, const std::optional<Execution>& found) {
    const std::string id = redrive.execution.text().str();
    if (!found) {
        return ReplyWith(redrive.request, internal::Fail(ErrorCode::kNotFound,
                                                         "there is no execution '" + id + "'"));
    }
    if (!CanFollow(found->status, Status::kPending) || !IsTerminal(found->status)) {
        return ReplyWith(
            redrive.request,
            internal::Fail(ErrorCode::kConflict,
                           "execution '" + id + "' is " + std::string(Name(found->status)) +
                               "; only failed and cancelled ones can be run again"));
    }
    const Duration margin = std::min(kRedriveMargin, config_.retention / 2);
    if (found->finished_at < std::max(now_.wall - config_.retention, purged_before_) + margin) {
        return ReplyWith(redrive.request,
                         internal::Fail(ErrorCode::kConflict,
                                        "execution '" + id +
                                            "' is about to be deleted, its retention ends; "
                                            "submit its task again"));
    }
    if (found->origin == Origin::kOnce &&
        !MayClaim(*found->task, redrive.execution, redrive.request)) {
        return;
    }
    Execution row = *found;
    RememberLast(row);
    row.status = Status::kPending;
    row.failures = row.losses = 0;
    // It has not begun: a sequential task's other runs need not wait for it.
    row.worker = {};
    row.ready_at = now_.wall;
    // Its time is now, so that what expired does not expire again at once. That of a fire is part
    // of what it is and stays.
    if (row.origin != Origin::kFire) row.scheduled_at = now_.wall;
    row.finished_at = {};
    Live& live = Insert(std::move(row), Place::kHistory);
    const auto task = tasks_.find(live.row.task->id.text());
    if (live.row.origin != Origin::kOnce && task != tasks_.end()) Link(live, *task->second);
    HoldKey(live.row);
    Write(live, Place::kLive, true);
    Emit(EventType::kTaskSubmitted, live, "run again by an operator");
    ReplyWith(redrive.request, Answer{.execution = WaitAndSee(live)});
}

void Engine::CreateOnce(const Submit& submit) {
    Task& task = *submit.task;
    if (!MayClaim(task, ExecutionId(task.id.text()), submit.request)) return;
    const Queue& queue = lanes_.QueueOf(task.queue);
    if (queue.waiting >= config_.pending_max) {
        return ReplyWith(submit.request,
                         internal::Fail(ErrorCode::kExhausted,
                                        "queue '" + task.queue.str() +
                                            "' is full: " + std::to_string(queue.waiting) +
                                            " executions wait in it; try again later",
                                        "queue"));
    }
    Execution row;
    if (task.id.empty()) {
        auto [serial, id] = FreshId();
        row.serial = serial;
        task.id = TaskId(std::move(id));
    } else {
        row.serial = serials_.Next(now_.wall);
    }
    task.created_at = task.updated_at = now_.wall;
    row.id = ExecutionId(task.id.text());
    row.created_at = now_.wall;
    row.scheduled_at = task.run_at != Time{} ? task.run_at : now_.wall + task.opt().delay;
    row.ready_at = row.scheduled_at;
    row.task = submit.task;
    Live& live = Insert(std::move(row), Place::kNone);
    HoldKey(live.row);
    Write(live, Place::kLive, true);
    ++counters_.submitted;
    Emit(EventType::kTaskSubmitted, live);
    ReplyWith(submit.request, Answer{.execution = WaitAndSee(live), .created = true});
}

// A serial and the id spelled from it. Callers may have chosen ids of the same form long ago: those
// that live are passed over, each once.
std::pair<Serial, Text> Engine::FreshId() {
    for (;;) {
        const Serial serial = serials_.Next(now_.wall);
        Text id(SerialText(serial));
        if (!live_.contains(id.view())) return {serial, std::move(id)};
    }
}

// Whether the engine itself may come to give this id.
bool Engine::IsOwnToCome(std::string_view id) const {
    const std::optional<Serial> serial = ParseSerial(id);
    return serial && *serial > serials_.last() && *serial < SerialAt(now_.wall + kOwnIds);
}

std::unexpected<Error> Engine::TakenForOwn() {
    return internal::Fail(ErrorCode::kInvalid,
                          "ids of 13 characters like this one are given by the scheduler itself; "
                          "choose another, or leave it out",
                          "id");
}

void Engine::ReplyWith(RequestId request, Result<Answer> answer) {
    if (request != 0) effects_->replies.push_back({request, std::move(answer)});
}

// --- What comes out -----------------------------------------------------------------------------

void Engine::Write(Live& live, Place after, bool urgent) {
    effects_->urgent |= urgent;
    if (live.mark.generation == effects_->generation) {
        Change& change = effects_->Rewrite(live.mark.index);
        auto& execution = std::get<ExecutionChange>(change);
        execution.after = after;
        execution.row = live.row;
        step_bytes_ += SizeOf(change);
    } else {
        live.mark = {effects_->generation, Add(ExecutionChange{live.place, after, live.row})};
    }
    live.place = after;
}

void Engine::Write(Recurring& recurring) {
    effects_->urgent = true;
    if (recurring.mark.generation == effects_->generation) {
        Rewrite(recurring.mark.index, TaskPut{recurring.row});
    } else {
        recurring.mark = {effects_->generation, Add(TaskPut{recurring.row})};
    }
}

void Engine::Write(Slot& slot) {
    effects_->urgent = true;
    if (slot.mark.generation == effects_->generation) {
        Rewrite(slot.mark.index, WorkerPut{slot.row});
    } else {
        slot.mark = {effects_->generation, Add(WorkerPut{slot.row})};
    }
}

// Unique keys with a window write one with every submit, so a search through the batch would be
// quadratic.
void Engine::Write(SettingPut setting) {
    effects_->urgent = true;
    if (std::exchange(settings_generation_, effects_->generation) != effects_->generation) {
        setting_marks_.clear();
    }
    const auto [mark, first] = setting_marks_.try_emplace(setting.key);
    if (first) {
        mark->second = Add(std::move(setting));
    } else {
        Rewrite(mark->second, std::move(setting));
    }
}

void Engine::Rewrite(std::uint32_t index, Change change) {
    step_bytes_ += SizeOf(change);
    effects_->Rewrite(index) = std::move(change);
}

void Engine::Emit(EventType type, const Live& live, Text detail) {
    Emit(Event{.type = type,
               .task = live.row.task->id,
               .execution = live.row.id,
               .worker = live.row.worker,
               .attempt = live.row.attempt,
               .detail = std::move(detail)});
}

void Engine::Emit(EventType type, const Slot& slot, Text detail) {
    Emit(Event{.type = type, .worker = slot.row.id, .detail = std::move(detail)});
}

void Engine::Emit(Event event) {
    event.serial = serials_.Next(now_.wall);
    event.at = now_.wall;
    if (config_.events_stored >> static_cast<unsigned>(event.type) & 1) {
        Add(EventAppend{event});
    }
    effects_->events.push_back(std::move(event));
}

}  // namespace takt::internal
