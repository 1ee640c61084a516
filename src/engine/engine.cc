// The engine's frame: inputs in, what time brings, effects out.
#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/failpoint.h"
#include "base/log.h"

namespace takt::internal {
namespace {

// Keys of which the next leader is not told yet are gone on with so soon.
constexpr Duration kUntoldLook{1};

// The fault that makes a live row impossible to go on with; null if nothing does.
const char* Nonsense(const Execution& row) {
    if (row.task->priority > kPriorityMax) return "its stored priority is above 9";
    if (IsWorking(row.status) && row.worker.empty() && !row.task->workflow())
        return "it is stored as at work, but not with whom";
    return nullptr;
}

// To the log: it is about this process's machine, not about what the engine holds.
void TellClockWasSet(Duration jump) {
    const bool ahead = jump > Duration(0);
    Log(LogLevel::kWarning, "engine",
        ahead
            ? "the wall clock was set ahead; nothing is purged and nothing expires by it before it "
              "has stayed there for an hour"
            : "the wall clock was set back; due times that were fired do not come again",
        {{"by", FormatDuration(std::chrono::abs(jump))}});
}

}  // namespace

Engine::Engine(const EngineConfig& config, TermView term, const RandomSeed& seed)
    : config_(config),
      term_(term),
      random_(seed),
      draft_(term.partition, config.events_stored),
      lanes_(config.ageing),
      holds_(draft_, config_),
      locks_(draft_, config_, term.epoch, random_.Below(UINT64_MAX)),
      outputs_(config.log_bytes_max),
      retention_(config_),
      chooser_(config_, random_),
      trials_(config_) {
    outputs_.SetBound(config_);
}

void Engine::RestoreWorker(Worker worker) {
    auto slot = std::make_unique<Slot>();
    slot->order = ++joined_;
    slot->row = std::move(worker);
    // Heartbeats are not stored: of one that was there, nobody knows when it was last heard of.
    if (slot->row.status != WorkerStatus::kOffline) slot->row.seen_at = Time{};
    const Text key = slot->row.id.text();
    FindLanes(*slot);
    workers_.emplace(key, std::move(slot));
}

void Engine::RestoreExecution(Execution execution) {
    TAKT_CHECK(!begun_);
    // A store gives a row that it cannot read as a failed one; that is what becomes of it, and of
    // one that makes no sense.
    std::optional<RunProgress> progress;
    const char* why = IsTerminal(execution.status) ? nullptr : Nonsense(execution);
    if (!why && !IsTerminal(execution.status)) why = ReadFlow(execution, progress);
    if (why) {
        execution.status = Status::kFailed;
        execution.outcome = MakeOutcome(Reason::kUndecodable, Text(why));
    }
    if (IsTerminal(execution.status)) {
        Live* run = execution.parent.empty() ? nullptr : FindLive(execution.parent);
        if (run && IsRun(*run)) run->flow->blind = true;
        return unreadable_.push_back(std::move(execution));
    }
    if (TAKT_MUTANT("engine.forget_failures_on_load")) execution.failures = 0;
    Live& live = InsertExecution(std::move(execution), Place::kLive);
    live.forced = TAKT_MUTANT("engine.forget_turns_on_load");
    JoinFlow(live, std::move(progress));
    if (IsOwned(live.row)) Link(live, OwnerOf(live.row.task));
    if (!TAKT_MUTANT("engine.forget_keys_on_load")) claims_.Restore(live.row);
    restored_.push_back(&live);
}

void Engine::Begin(Serial last_serial, Instant now, Effects& effects) {
    TAKT_CHECK(!begun_);
    begun_ = true;
    now_ = now;
    // Loading a million executions must not stop half way; nothing can be assigned yet.
    clock_.Begin(now, last_serial == 0 ? Time{} : TimeOf(last_serial));
    draft_.Open(effects, now, {.changes_max = SIZE_MAX, .bytes_max = SIZE_MAX});
    draft_.FollowForSerials(clock_.trusted());
    retention_.Begin(now.steady);
    quotas_.Set(config_.quotas, now.steady);
    draft_.Resume(term_.partition, last_serial);
    clock_.Tell(draft_);
    BeginLimits();
    claims_.Begin(clock_.trusted(), now.wall - clock_.trusted(),
                  std::max(TimeOf(last_serial) - now.wall, Duration(0)));
    locks_.Begin(now);
    AdoptLeftLocks();
    // No worker is connected yet. Executions at work first, then those that have begun: what is still
    // to start must find their places taken.
    const auto working = [](const Live* live) { return IsWorking(live->row.status); };
    for (Live* live : restored_) {
        if (!live->finished && working(live)) PlaceBegun(*live);
    }
    BeginLeftovers();
    locks_.EndUnadopted();
    // A run of which too little can be read has ended by now.
    for (Live* live : restored_) {
        if (!live->finished && !working(live) && Begun(live->row)) PlaceBegun(*live);
    }
    PlaceWaiting();
    restored_ = {};
    stored_runs_ = {};
    for (auto& [id, recurring] : tasks_) {
        const bool unplanned = recurring->row.state.next_at == Time{} && recurring->runs.empty();
        if (unplanned || TAKT_MUTANT("engine.forget_downtime")) PlanFrom(*recurring, now.wall);
        Arm(*recurring);
        if (recurring->row.state.replaced_below != 0) {
            replacing_.push_back(recurring->row.task->id);
        }
    }
    PlanAgain();
    // A worker whose leader's machine lost its power notices by the silence, after its lease. To
    // expect it earlier would run everything twice that was running then.
    const Duration grace = TAKT_MUTANT("engine.no_grace")
                               ? Duration(100)
                               : std::max(config_.takeover_grace, config_.worker_lease);
    for (auto& [id, slot] : workers_) {
        const bool expected = slot->row.status != WorkerStatus::kOffline;
        leases_.Set(*slot, now.steady + (expected ? grace : ForgottenAfter(config_)), slot->order);
    }
    draft_.Emit(Event{.type = EventType::kLeaderChanged});
    SpellRuns();
    draft_.Close();
}

void Engine::Step(Input input, Instant now, Effects& effects) {
    TAKT_CHECK(begun_ && now.steady >= now_.steady);
    now_ = now;
    const Duration jump = clock_.Observe(now);
    if (jump != Duration(0)) TellClockWasSet(jump);
    holds_.SetTime(now);
    locks_.SetTime(now);
    draft_.Open(effects, now,
                {.changes_max = config_.changes_per_step, .bytes_max = config_.bytes_per_step});
    draft_.FollowForSerials(clock_.trusted());
    if (clock_.moved() != Duration(0) || clock_.parted()) WaitAgain();
    if (clock_.set_back()) PlanAgain();
    if (clock_.moved() != Duration(0) || clock_.trusted_moved() != Duration(0)) {
        claims_.Move(clock_.trusted_moved(), now.wall - clock_.trusted());
    }
    claims_.Tell(draft_);
    clock_.Tell(draft_);
    std::visit([this](auto& known) { On(Unboxed(known)); }, input);
    RunDue();
    SpellRuns();
    WriteLeftovers();
    draft_.Close();
    live_.FreeFinished();
}

std::optional<Duration> Engine::NextDeadline(Instant now) const {
    if (!unfinished_.empty() || !unreadable_.empty() || !replacing_.empty() || !deletes_.empty() ||
        !moving_.empty()) {
        return Duration(0);
    }
    if (clock_.IsSetBack(now)) return Duration(0);
    // Rounded up: a millisecond late is on time, a millisecond early is a wasted wake-up.
    const auto until = [&](Steady at) {
        return std::max(std::chrono::ceil<Duration>(at - now.steady), Duration(0));
    };
    Duration next = claims_.has_untold() ? kUntoldLook : until(retention_.next_at());
    if (!due_.empty()) next = std::min(next, std::max(due_.next_at() - now.wall, Duration(0)));
    if (!overdue_.empty()) next = std::min(next, until(overdue_.next_at()));
    if (!leases_.empty()) next = std::min(next, until(leases_.next_at()));
    if (!leftovers_.due.empty()) next = std::min(next, until(leftovers_.due.next_at()));
    if (!fires_.empty()) next = std::min(next, std::max(fires_.next_at() - now.wall, Duration(0)));
    if (const auto wake = holds_.next_at()) next = std::min(next, until(*wake));
    if (const auto serve = locks_.next_at()) next = std::min(next, until(*serve));
    if (!queue_paces_.empty()) next = std::min(next, until(queue_paces_.next_at()));
    if (const auto tell = clock_.tell_at()) next = std::min(next, until(*tell));
    if (circles_.look_at != Steady::max()) next = std::min(next, until(circles_.look_at));
    return next;
}

void Engine::RunDue() {
    for (; !draft_.Tired() && !unreadable_.empty(); unreadable_.pop_back())
        EndUnreadable(unreadable_.back());
    ContinueDeleting();
    ContinueReplacing();
    while (!draft_.Tired() && !due_.empty() && due_.next_at() <= now_.wall) OnDue(*due_.next());
    while (!draft_.Tired() && !overdue_.empty() && overdue_.next_at() <= now_.steady) {
        OnOverdue(*overdue_.next());
    }
    while (!draft_.Tired() && !leases_.empty() && leases_.next_at() <= now_.steady) {
        OnLease(*leases_.next());
    }
    while (!draft_.Tired() && !leftovers_.due.empty() && leftovers_.due.next_at() <= now_.steady) {
        OnStopDue(*leftovers_.due.next());
    }
    while (!draft_.Tired() && !fires_.empty() && fires_.next_at() <= now_.wall)
        OnFire(*fires_.next());
    // A run that ends lets another one begin.
    ContinueRuns();
    BreakCircles();
    OpenHolds();
    ServeLocks();
    ContinueRuns();
    while (!draft_.Tired() && !queue_paces_.empty() && queue_paces_.next_at() <= now_.steady) {
        StartFromQueue(*queue_paces_.next());
    }
    // Each turn either ends a worker's unfinished business or makes the step tired.
    for (std::size_t turns = unfinished_.size(); turns > 0 && !draft_.Tired(); --turns) {
        Slot& slot = *unfinished_.front();
        unfinished_.pop_front();
        slot.unfinished = false;
        ContinueWorker(slot);
    }
    claims_.ForgetEnded(clock_.undoubted(), draft_);
    // A clock that is ahead for a moment must not purge what is to be kept for days.
    retention_.Clean({clock_.settled(), now_.steady}, draft_);
}

// Ends what nobody can run, as if it had failed now: so it is seen, and kept for its time.
void Engine::EndUnreadable(Execution& row) {
    row.finished_at = now_.wall;
    const Text why = row.outcome ? row.outcome->message : Text();
    Event event{.type = EventType::kTaskFailed,
                .task = row.task->id,
                .execution = row.id,
                .worker = row.worker,
                .attempt = row.attempt,
                .detail = why};
    if (row.task->workflow()) {
        ChangeMark mark;
        draft_.Put(mark, RecordPut{RecordKind::kRun, row.id.text(), Text()});
    }
    draft_.Append(ExecutionChange{Place::kLive, Place::kHistory, std::move(row)});
    draft_.MakeUrgent();
    ++counters_.failed;
    retention_.CountFinished();
    draft_.Emit(std::move(event));
}

// --- What comes out -----------------------------------------------------------------------------

void Engine::Write(Live& live, Place after, bool urgent) {
    if (urgent) draft_.MakeUrgent();
    awaited_.NoteWritten(live, after);
    draft_.Put(live.mark, live.place, after, live.row);
    live.place = after;
}

void Engine::Write(Recurring& recurring) {
    draft_.MakeUrgent();
    draft_.Put(recurring.mark, TaskPut{recurring.row});
}

void Engine::Emit(EventType type, const Live& live, Text detail) {
    draft_.Emit(Event{.type = type,
                      .task = live.row.task->id,
                      .execution = live.row.id,
                      .worker = live.row.worker,
                      .attempt = live.row.attempt,
                      .detail = std::move(detail)});
}

void Engine::Emit(EventType type, const Slot& slot, Text detail) {
    draft_.Emit(Event{.type = type, .worker = slot.row.id, .detail = std::move(detail)});
}

}  // namespace takt::internal
