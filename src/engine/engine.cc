// The engine's frame: inputs in, what time brings, effects out.
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

// What makes a live row impossible to go on with; null if nothing does.
const char* Nonsense(const Execution& row) {
    if (row.task->priority > kPriorityMax) return "its stored priority is above 9";
    if (IsWorking(row.status) && row.worker.empty())
        return "it is stored as at work, but not with whom";
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
    const auto working = [](const Live* live) { return IsWorking(live->row.status); };
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
        SayLimits(*recurring->row.task);
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
