#include "sim/policy_checker.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "model/workflow.h"

namespace takt::internal::sim {
namespace {

// A commit may be a leader's patience late, and a worker may say late that it began.
constexpr Micros kTimeoutLate = 15s;
// So many fires without any jitter are no accident if each has a hundred places to choose from.
constexpr int kWithoutJitter = 6;
constexpr Duration kJitterNoticed{100};

std::string NameRun(const Execution& row) {
    return row.id.text().str() + " of " + row.task->id.text().str();
}

bool HasBegun(const RowMove& move) {
    return move.after.attempt > move.before.attempt;
}

bool IsRecordOfMissed(const Execution& row) {
    const Reason reason = row.outcome ? row.outcome->reason : Reason::kNone;
    return row.status == Status::kSkipped &&
           (reason == Reason::kMissed || reason == Reason::kPaused);
}

// As docs/scheduling.md says it: each delay is the one before times the rate, up to a maximum.
double ShortestDelay(const RetryPolicy& retry, std::uint32_t failures) {
    const double delay = double(retry.delay.count()) *
                         std::pow(retry.backoff_rate, double(std::max(failures, 1u) - 1));
    return std::min(delay, double(retry.delay_max.count())) * (1 - retry.jitter);
}

const PastAttempt* LastPast(const Execution& row) {
    if (!row.outcome || row.outcome->past.empty()) return nullptr;
    return &row.outcome->past.back();
}

}  // namespace

void PolicyChecker::OnCommit(const Batch& batch, const std::vector<RowMove>& moves,
                             Time wall_latest, Steady sent, const EngineConfig& config) {
    clock_latest_ = std::max(clock_latest_, wall_latest);
    for (const Change& change : batch.changes) {
        const auto* purge = std::get_if<Purge>(&change);
        if (purge && purge->finished_before > wall_latest - config.retention) {
            fail_("what ended before " + FormatTime(purge->finished_before) +
                  " is purged before its retention is over");
        }
    }
    for (const RowMove& move : moves) {
        const Execution& row = move.after;
        if (!move.before.task && row.origin == Origin::kFire) {
            IsRecordOfMissed(row) ? CheckMissed(row, batch) : CheckFire(row, batch, config);
            CheckSkipped(row, moves);
        }
        CheckLoss(move, config);
        CheckTimeout(move, batch, sent, config);
    }
    CheckDrains(batch, moves);
    Follow(moves);
    CheckBacklogs(moves);
}

// --- Fires --------------------------------------------------------------------------------------

void PolicyChecker::CheckFire(const Execution& row, const Batch& batch,
                              const EngineConfig& config) {
    const TaskOptions& options = row.task->opt();
    const Duration late = row.created_at - row.scheduled_at;
    if (options.start_deadline > Duration(0) && late >= options.start_deadline) {
        fail_(NameRun(row) + " was fired after its start_deadline");
    }
    CheckMisfire(row, batch, config);
    CheckJitter(row);
}

bool PolicyChecker::IsUnsettled(const Execution& row, const Batch& batch) const {
    const TaskRow* before = fires_.Find(row.task->id);
    if (!before || before->task->version != row.task->version || fires_.WasPaused(*before) ||
        !before->state.passed.empty()) {
        return true;
    }
    return std::ranges::any_of(batch.changes, [&](const Change& change) {
        const auto* put = std::get_if<TaskPut>(&change);
        return put && put->row.task->id == row.task->id &&
               (put->row.state.paused || put->row.task->version != row.task->version ||
                // A record of what was missed leaves its own place there.
                (!put->row.state.passed.empty() && !IsRecordOfMissed(row)));
    });
}

void PolicyChecker::CheckMisfire(const Execution& row, const Batch& batch,
                                 const EngineConfig& config) {
    const TaskOptions& options = row.task->opt();
    const Duration late = row.created_at - row.scheduled_at;
    if (options.misfire == Misfire::kSkip && late > config.misfire_tolerance) {
        fail_(NameRun(row) + " was fired late although what is late is to be skipped");
    }
    const auto plan = DuePlan::Make(*options.recurrence, row.task->created_at);
    if (!plan || plan->after_end()) return;
    auto next = plan->Next(row.scheduled_at);
    if (IsUnsettled(row, batch)) {
        // How many it makes up for is not told there, only that it does.
        CaughtUp& caught_up = caught_up_[row.task->id];
        if (caught_up.epoch != batch.term.epoch) caught_up = {batch.term.epoch, 0};
        caught_up.some = next && *next <= row.created_at;
        return;
    }
    // After a clock was set back, some of those behind it may have been fired before.
    while (next && fires_.WasFired(*row.task, *next)) next = plan->Next(*next);
    const bool more_due = next && *next <= row.created_at;
    if (options.misfire == Misfire::kFireOnce && more_due) {
        fail_(NameRun(row) + " was fired although only the last of several is to be");
    }
    if (options.misfire != Misfire::kFireAll) return;
    CaughtUp& caught_up = caught_up_[row.task->id];
    if (!more_due || caught_up.epoch != batch.term.epoch) caught_up = {batch.term.epoch, 0};
    if (more_due && ++caught_up.count > options.misfires_max) {
        fail_(NameRun(row) + " was made up for beyond misfires_max");
    }
}

void PolicyChecker::CheckMissed(const Execution& row, const Batch& batch) {
    const TaskOptions& options = row.task->opt();
    const CaughtUp before = caught_up_[row.task->id];
    caught_up_.erase(row.task->id);
    if (options.misfire != Misfire::kFireAll || options.start_deadline > Duration(0) ||
        row.outcome->reason == Reason::kPaused || IsUnsettled(row, batch)) {
        return;
    }
    const bool none = before.epoch != batch.term.epoch || (before.count == 0 && !before.some);
    if (none && options.misfires_max > 0 &&
        fires_.Find(row.task->id)->state.next_at == row.scheduled_at) {
        fail_(NameRun(row) + " was missed although all that was missed is to be made up for");
    }
}

void PolicyChecker::CheckJitter(const Execution& row) {
    const Duration jitter = row.task->opt().recurrence->jitter;
    const Duration delay = row.ready_at - row.scheduled_at;
    if (row.attempt > 0) return;
    if (delay > jitter) {
        fail_(NameRun(row) + " waits longer than its jitter");
    }
    if (jitter < kJitterNoticed) return;
    Jitter& seen = jitters_[{row.task->id, row.task->version}];
    seen.some = seen.some || delay != Duration(0);
    if (!seen.some && ++seen.none > kWithoutJitter) {
        fail_("fires of " + row.task->id.text().str() + " have no jitter");
    }
}

// A fire is skipped for a reason only.
void PolicyChecker::CheckSkipped(const Execution& row, const std::vector<RowMove>& moves) {
    if (row.status != Status::kSkipped || row.outcome->reason != Reason::kSkipped) return;
    if (row.outcome->message.view() == "its queue was full") return;
    const auto is_run = [&](const Execution& other) {
        return other.task->id == row.task->id && !(other.id == row.id);
    };
    const bool going =
        std::ranges::any_of(live_, [&](const auto& item) { return is_run(item.second.after); }) ||
        std::ranges::any_of(moves, [&](const RowMove& move) { return is_run(move.after); });
    if (!going) fail_(NameRun(row) + " was skipped although no run of its task was going");
}

void PolicyChecker::CheckBacklogs(const std::vector<RowMove>& moves) {
    for (const RowMove& made : moves) {
        const Execution& row = made.after;
        if (made.before.task || IsTerminal(row.status)) continue;
        if (row.origin != Origin::kFire || row.task->opt().mode != Mode::kSequential) continue;
        const auto waits = std::ranges::count_if(live_, [&](const auto& item) {
            const Execution& other = item.second.after;
            return other.task->id == row.task->id &&
                   other.task->created_at == row.task->created_at && other.attempt == 0 &&
                   !item.second.redriven && other.payload != kForcedPayload &&
                   (other.origin == Origin::kFire || other.origin == Origin::kTrigger);
        });
        // One of them may have its turn.
        if (waits > std::ptrdiff_t(row.task->opt().backlog_max) + 1) {
            fail_(NameRun(row) + " waits beyond its task's backlog_max");
        }
    }
}

void PolicyChecker::CheckDelays(Time wall) const {
    std::set<TaskId> going;
    for (const auto& [id, row] : live_) going.insert(row.after.task->id);
    for (const auto& [id, row] : fires_.tasks()) {
        const Recurrence& recurrence = *row.task->opt().recurrence;
        const bool over =
            row.state.paused ||
            (recurrence.fires_max != 0 && row.state.fires >= recurrence.fires_max) ||
            // By a clock that ran ahead it may have come to its end.
            (recurrence.end_at != Time{} &&
             recurrence.end_at <= std::max(wall, clock_latest_) + recurrence.every_after_end);
        if (recurrence.every_after_end == Duration(0) || over || going.contains(id)) continue;
        if (row.state.next_at == Time{}) {
            fail_(id.text().str() + " has ended its run and will never be fired again");
        }
    }
}

// --- Attempts -----------------------------------------------------------------------------------

// Exact by the time at which the next attempt was decided, where all clocks are right.
void PolicyChecker::CheckRetry(const Execution& row, Time decided,
                               const EngineConfig& config) const {
    const PastAttempt* past = LastPast(row);
    // Without a failure it is not retried: somebody runs it again, at once.
    if (world_.clocks_set > 0 || decided == Time{} || row.failures == 0 || !past) return;
    if (past->end != AttemptEnd::kFailed || past->attempt + 1 != row.attempt) return;
    const auto& own = row.task->opt().retry;
    const double delay = ShortestDelay(own ? *own : config.retry, row.failures);
    // Each of the times is rounded to a millisecond.
    if (double((decided - past->finished_at).count()) < delay - 2) {
        fail_(NameRun(row) + " is retried before its delay is over");
    }
}

void PolicyChecker::CheckLoss(const RowMove& move, const EngineConfig& config) {
    const Execution& row = move.after;
    const bool suspect = row.losses > 0 && row.losses + 1 >= config.losses_max;
    if (suspect && IsWorking(row.status)) had_suspects_.insert(row.worker);
    const PastAttempt* past = LastPast(row);
    if (!move.before.task || !IsWorking(move.before.status) || !past) return;
    if (past->end != AttemptEnd::kLost || past->attempt != move.before.attempt) return;
    // A suspect that it had may be blamed instead, in this batch or in one of those that follow.
    if (row.losses <= move.before.losses && !had_suspects_.contains(move.before.worker)) {
        fail_(NameRun(row) + " lost its worker, and that is not counted");
    }
}

void PolicyChecker::CheckTimeout(const RowMove& move, const Batch& batch, Steady decided,
                                 const EngineConfig& config) {
    const Execution& row = move.after;
    if (!move.before.task || !IsWorking(move.before.status) || row.task->workflow()) return;
    const PastAttempt* past = LastPast(row);
    const bool final =
        row.status == Status::kFailed && row.outcome && row.outcome->reason == Reason::kTimeout;
    const bool retried = row.status == Status::kRetrying && past && past->attempt == row.attempt &&
                         past->reason == Reason::kTimeout;
    const auto sent = sent_.find({row.id.text().str(), row.attempt});
    if (!(final || retried) || sent == sent_.end()) return;
    const Duration timeout = row.task->timeout > Duration(0) ? row.task->timeout : config.timeout;
    const Micros took = std::chrono::duration_cast<Micros>(decided - sent->second.at);
    if (took < timeout) fail_(NameRun(row) + " was given up before its timeout");
    const bool same_term = row.epoch == batch.term.epoch;
    if (same_term && took > Micros(timeout + config.timeout_grace) + kTimeoutLate) {
        fail_(NameRun(row) + " was given up long after its timeout");
    }
}

void PolicyChecker::OnAssign(const Assign& assign, Time decided, const EngineConfig& config) {
    const Execution& row = assign.execution;
    CheckRetry(row, decided, config);
    sent_[{row.id.text().str(), row.attempt}] = {world_.now(), assign.session, row.token};
}

void PolicyChecker::OnEnd(const AttemptRef& attempt) {
    const auto sent = sent_.find({attempt.execution.text().str(), attempt.attempt});
    if (sent == sent_.end() || sent->second.token != attempt.token) return;
    sent_.erase(sent);
}

void PolicyChecker::OnRelease(const Effects& effects,
                              const std::function<bool(SessionId)>& reaches) {
    // Once is enough: one that took too long is retried, and may be cancelled meanwhile.
    for (const StopAttempt& stop : effects.stops) {
        const auto sent = sent_.find({stop.attempt.execution.text().str(), stop.attempt.attempt});
        if (sent != sent_.end()) sent->second.told_to_stop = true;
    }
    for (const Event& event : effects.events) {
        if (event.type != EventType::kTaskCancelled) continue;
        const auto sent = sent_.find({event.execution.text().str(), event.attempt});
        if (sent == sent_.end() || !reaches(sent->second.session)) continue;
        // A worker that is lost, or goes, in the same batch has lost its attempts before.
        const bool closed = std::ranges::any_of(effects.closes, [&](const CloseSession& close) {
            return close.session == sent->second.session;
        });
        if (closed || sent->second.told_to_stop) continue;
        fail_(event.execution.text().str() + " was cancelled and its worker is not told to stop");
    }
}

// --- Workers ------------------------------------------------------------------------------------

void PolicyChecker::CheckDrains(const Batch& batch, const std::vector<RowMove>& moves) {
    std::set<std::string> changed;
    for (const Change& change : batch.changes) {
        if (const auto* gone = std::get_if<WorkerDelete>(&change)) {
            changed.insert(gone->id.text().str());
        }
        if (const auto* put = std::get_if<WorkerPut>(&change)) {
            changed.insert(put->row.id.text().str());
            workers_[put->row.id.text().str()] = put->row.status;
        }
    }
    for (const RowMove& move : moves) {
        if (!HasBegun(move) || move.after.task->workflow()) continue;
        const std::string name = move.after.worker.text().str();
        const auto worker = workers_.find(name);
        // A worker that is set aside by the same batch, perhaps once more, was given it just before.
        if (worker == workers_.end() || changed.contains(name)) continue;
        const WorkerStatus status = worker->second;
        if (status == WorkerStatus::kDraining || status == WorkerStatus::kMaintenance) {
            fail_(NameRun(move.after) + " was given to " + name + ", which is drained");
        }
    }
}

void PolicyChecker::Follow(const std::vector<RowMove>& moves) {
    for (const RowMove& move : moves) {
        if (IsTerminal(move.after.status)) {
            live_.erase(move.after.id);
        } else {
            live_[move.after.id] = {move.after, move.redriven};
        }
    }
}

}  // namespace takt::internal::sim
