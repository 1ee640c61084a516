#include "sim/checker.h"

#include <algorithm>
#include <array>

#include "model/workflow.h"

namespace takt::internal::sim {
namespace {

// As base/id.h lays out a serial: a counter, then the partition, then the time.
constexpr int kSerialCounterBits = 14;

// Whether `to` can be reached from `from` in one or more allowed changes, without passing through a
// terminal state on the way unless it starts there.
bool CanReach(Status from, Status to) {
    std::array<bool, kStatusCount> seen{};
    std::vector<Status> next{from};
    while (!next.empty()) {
        const Status at = next.back();
        next.pop_back();
        for (const Transition& t : Transitions()) {
            if (t.from != at || seen[std::size_t(t.to)]) continue;
            if (t.to == to) return true;
            seen[std::size_t(t.to)] = true;
            if (!IsTerminal(t.to)) next.push_back(t.to);
        }
    }
    return false;
}

std::string Describe(const Execution& row) {
    return row.id.text().str() + " (" + std::string(Name(row.status)) + ", attempt " +
           std::to_string(row.attempt) + ", failures " + std::to_string(row.failures) +
           ", losses " + std::to_string(row.losses) + ")";
}

}  // namespace

void Checker::Fail(const std::string& what) {
    world_.Note("checker", "VIOLATION", what);
    if (failure_.empty()) failure_ = what;
}

const Execution* Checker::Find(const ExecutionId& id) const {
    const auto found = rows_.find(id);
    return found == rows_.end() ? nullptr : &found->second;
}

std::vector<ExecutionId> Checker::Accepted() const {
    return {submitted_.begin(), submitted_.end()};
}

std::vector<ExecutionId> Checker::Stored() const {
    std::vector<ExecutionId> ids;
    for (const auto& [id, row] : rows_) ids.push_back(id);
    return ids;
}

// --- Commits ------------------------------------------------------------------------------------

void Checker::OnRefused(const Batch& batch, const Error& error) {
    if (error.code != ErrorCode::kInvalid) return;
    Fail("a batch of epoch " + std::to_string(batch.term.epoch) +
         " contradicts the database: " + error.detail);
}

// Everything that is written for one namespace was made in it: its serials say so.
void Checker::CheckPartition(const Batch& batch) {
    const auto check = [&](Serial serial, std::string_view what) {
        const auto made_in = static_cast<Partition>(serial >> kSerialCounterBits);
        if (made_in == partition_) return;
        Fail(std::string(what) + " of namespace " + std::to_string(made_in) +
             " is written for namespace " + std::to_string(partition_));
    };
    for (const Change& change : batch.changes) {
        if (const auto* execution = std::get_if<ExecutionChange>(&change)) {
            check(execution->row.serial, execution->row.id.view());
        }
        if (const auto* event = std::get_if<EventAppend>(&change)) {
            check(event->row.serial, "an event");
        }
    }
}

void Checker::OnCommit(const Batch& batch, Instant latest, Steady sent,
                       const EngineConfig& config) {
    ++commits_;
    CheckPartition(batch);
    if (batch.term.epoch < epoch_) {
        Fail("a commit of epoch " + std::to_string(batch.term.epoch) + " after one of epoch " +
             std::to_string(epoch_));
    }
    epoch_ = std::max(epoch_, batch.term.epoch);
    moves_.clear();
    for (const Change& change : batch.changes) {
        if (const auto* execution = std::get_if<ExecutionChange>(&change)) {
            OnChange(*execution, batch, latest, config);
        } else if (const auto* purge = std::get_if<Purge>(&change)) {
            purged_before_ = std::max(purged_before_, purge->finished_before);
        }
    }
    CheckCapacity();
    policies.OnCommit(batch, moves_, latest.wall, sent, config);
    fires.OnCommit(batch);
    limits.OnCommit(batch, moves_, latest.wall, config);
    handlers.OnCommit(batch, moves_, sent, config);
    locks.OnCommit(batch, [this](const ExecutionId& id) { return Find(id); });
    flows.OnCommit(batch, moves_);
    choices.OnCommit(batch, moves_);
    logs.OnCommit(batch, config, [this](const ExecutionId& id) { return MayBeRunAgain(id); });
    if (on_commit) on_commit(batch, moves_, config);
}

// Whether a delay is over, whatever the clocks say: those of two leaders differ, and may be set. They
// are read in whole milliseconds, and what waits is moved by the difference of two readings.
bool Checker::HasWaited(const Execution& row) const {
    const auto made = made_.find(row.id);
    const Duration rounded = Duration(2) * std::int64_t(world_.clocks_set);
    return row.task->run_at == Time{} && made != made_.end() &&
           world_.now() - made->second >= row.task->opt().delay - rounded;
}

// An id that retention has forgotten is free for something new.
void Checker::ForgetPurged(const ExecutionId& id) {
    const auto row = rows_.find(id);
    if (row == rows_.end() || !IsTerminal(row->second.status)) return;
    if (row->second.finished_at >= purged_before_) return;
    rows_.erase(row);
    const std::string name = id.text().str();
    const auto of_it = [&](const Key& key) { return std::get<0>(key) == name; };
    std::erase_if(attempts_, of_it);
    std::erase_if(ended_, [&](const auto& entry) { return of_it(entry.first); });
    std::erase_if(started_, of_it);
    cancelled_.erase(id);
    submitted_.erase(id);
}

// A part goes with its run, however late it ended by a clock that was ahead.
bool Checker::MayBePurged(const Execution& row) const {
    if (!IsTerminal(row.status)) return false;
    if (row.finished_at < purged_before_) return true;
    const Execution* run = row.parent.empty() ? nullptr : Find(row.parent);
    return run && MayBePurged(*run);
}

void Checker::OnChange(const ExecutionChange& change, const Batch& batch, Instant latest,
                       const EngineConfig& config) {
    const Execution& after = change.row;
    if (change.before == Place::kNone) ForgetPurged(after.id);
    const auto [found, fresh] = rows_.try_emplace(after.id, after);
    // The row is written anew at the end of this.
    Execution before = fresh ? Execution{} : std::move(found->second);
    if (!fresh) {
        if (before.status != after.status && !CanReach(before.status, after.status)) {
            Fail(Describe(after) + " cannot come after " + std::string(Name(before.status)));
        }
        if (IsTerminal(before.status) && !redrives_.contains(after.id)) {
            Fail(Describe(after) + " left its terminal state although nobody asked for it");
        }
        CheckCounts(before, after, config);
    } else if (after.origin == Origin::kFire && after.scheduled_at > latest.wall) {
        Fail(Describe(after) + " was fired too early");
    }
    // How long before it was last read that was by the clock of who made it, unless that was set in
    // between; each is rounded down to a millisecond. A batch may arrive long after that.
    Steady& made = made_[after.id];
    if (fresh) made = latest.steady - (latest.wall - after.created_at) - Duration(2);
    if (after.attempt > before.attempt) {
        attempts_.insert(KeyOf(after));
        if (workers_are_well && started_.contains(KeyOf(before)) &&
            !let_go_.contains(KeyOf(before))) {
            Fail(Describe(after) + " is run again, though its worker had the last attempt in hand");
        }
        if (after.epoch != batch.term.epoch) Fail(Describe(after) + " has a foreign epoch");
        // The leader that began what has a time of its own must have seen that time on its own
        // clock. What is to run at once, or has begun, needs no clock; nor what is run again.
        const bool has_time =
            after.origin == Origin::kOnce &&
            (after.task->run_at != Time{} || after.task->opt().delay > Duration(0));
        if (before.attempt == 0 && has_time && after.scheduled_at > latest.wall &&
            !HasWaited(after) && !redrives_.contains(after.id)) {
            Fail(Describe(after) + " was assigned too early");
        }
        if (const auto at = cancelled_.find(after.id);
            at != cancelled_.end() && !redrives_.contains(after.id)) {
            Fail(Describe(after) + " was assigned after its cancellation was confirmed");
        }
    } else if (after.attempt < before.attempt) {
        Fail(Describe(after) + " went back from attempt " + std::to_string(before.attempt));
    }
    // A run has no attempts; what it is made of has.
    const bool run = after.task->workflow() != nullptr;
    if (!run && after.status == Status::kSuccess && before.status != Status::kSuccess &&
        !WasConcluded(after)) {
        // Exactly the current attempt must have been ended so by the handler that ran it.
        const auto ended = ended_.find(KeyOf(after));
        if (ended == ended_.end() || !ended->second) {
            Fail(Describe(after) + " was completed by a report that is not of its attempt");
        }
    }
    if (IsWorking(before.status) && !run) --in_hand_[before.worker.text().str()];
    if (IsWorking(after.status) && !run) ++in_hand_[after.worker.text().str()];
    if (!fresh && !IsTerminal(before.status)) --unfinished_;
    if (!IsTerminal(after.status)) ++unfinished_;
    found->second = after;
    moves_.push_back({std::move(before), after, redrives_.contains(after.id), made});
}

void Checker::CheckCounts(const Execution& before, const Execution& after,
                          const EngineConfig& config) {
    const bool redriven = IsTerminal(before.status);
    if (!redriven && after.failures < before.failures) {
        Fail(Describe(after) + " forgot failures; it had " + std::to_string(before.failures));
    }
    if (!redriven && after.losses < before.losses) {
        Fail(Describe(after) + " forgot losses; it had " + std::to_string(before.losses));
    }
    if (!redriven && after.losses > before.losses) losses_ += after.losses - before.losses;
    const auto& retry = after.task->opt().retry;
    const std::uint32_t retries_max = retry ? retry->retries_max : config.retry.retries_max;
    if (after.failures > retries_max + 1) Fail(Describe(after) + " failed too often");
    if (after.losses > config.losses_max) Fail(Describe(after) + " was lost too often");
    if (after.failures + after.losses > after.attempt) {
        Fail(Describe(after) + " has more ends than attempts");
    }
}

void Checker::CheckCapacity() {
    for (const auto& [worker, count] : in_hand_) {
        const auto capacity = capacities_.find(worker);
        if (capacity == capacities_.end() || count > capacity->second) {
            Fail("worker " + worker + " has " + std::to_string(count) +
                 " in hand, more than its capacity");
        }
    }
}

// --- Messages and runs --------------------------------------------------------------------------

void Checker::OnWorker(const std::string& worker, std::uint32_t capacity) {
    std::uint32_t& known = capacities_[worker];
    known = std::max(known, capacity);
}

void Checker::OnAssign(const Execution& execution, const Decided& decided,
                       const EngineConfig& config) {
    limits.OnAssign(execution, decided);
    choices.OnAssign(execution, decided, config);
    if (!attempts_.contains(KeyOf(execution))) {
        Fail(Describe(execution) + " was sent to a worker before it was committed");
    }
}

// A report may be acknowledged more than once: its worker sends it again if the verdict was lost.
// But what is acknowledged must be what the store has, and what it has must not be refused.
void Checker::OnVerdict(const AttemptRef& attempt, bool accepted) {
    const Key key = KeyOf(attempt);
    const Execution* row = Find(attempt.execution);
    const auto ended = ended_.find(key);
    const bool is_end = row && row->attempt == attempt.attempt && row->token == attempt.token;
    const bool succeeded = ended != ended_.end() && ended->second;
    if (!accepted) {
        const bool stored = is_end && !MayBePurged(*row) && !WasConcluded(*row);
        if (stored && succeeded && row->status == Status::kSuccess) {
            Fail("a report of " + Describe(*row) + " was refused although it is stored");
        }
        return;
    }
    const std::string& name = std::get<0>(key);
    if (!attempts_.contains(key)) {
        return Fail("a report of " + name + " attempt " + std::to_string(attempt.attempt) +
                    " was accepted, which was never committed");
    }
    if (is_end && IsWorking(row->status)) {
        Fail("a report of " + Describe(*row) + " was acknowledged before it was committed");
    }
    if (succeeded != (is_end && row->status == Status::kSuccess)) {
        Fail("one of two reports of " + name + " was acknowledged, attempt " +
             std::to_string(attempt.attempt) + ", and the store has the other");
    }
}

void Checker::OnStart(const AttemptRef& attempt, const std::string& worker, std::size_t running,
                      std::size_t capacity) {
    const Key key = KeyOf(attempt);
    if (running > capacity) {
        Fail("worker " + worker + " runs " + std::to_string(running) + ", more than it can");
    }
    const std::string& name = std::get<0>(key);
    if (!attempts_.contains(key)) Fail(name + " was started without a committed attempt");
    if (!started_.insert(key).second) {
        Fail(name + " attempt " + std::to_string(attempt.attempt) + " was started twice");
    }
}

void Checker::OnEnd(const AttemptRef& attempt, bool success) {
    ended_[KeyOf(attempt)] = success;
    policies.OnEnd(attempt);
    choices.OnEnd(attempt);
}

void Checker::OnUnanswered(const std::string& asked) {
    Fail("a client that asked to " + asked + " was never answered");
}

void Checker::OnSubmitted(const Execution& execution) {
    submitted_.insert(execution.id);
    if (!rows_.contains(execution.id)) {
        Fail(Describe(execution) + " was confirmed before it was committed");
    }
}

void Checker::OnCancelled(const Execution& execution) {
    // A run that is told to end does so with its last part; the checker of flows watches it.
    if (execution.task->workflow() && execution.status == Status::kRunning) return;
    cancelled_.emplace(execution.id, execution.attempt);
    const Execution* row = Find(execution.id);
    if (!row || (row->status != Status::kCancelled && !redrives_.contains(execution.id))) {
        Fail(Describe(execution) + " was confirmed as cancelled before it was committed");
    }
}

// An operator ended it, and not its worker.
bool Checker::WasConcluded(const Execution& row) const {
    const auto asked = concluding_.find(row.id);
    return asked != concluding_.end() && asked->second.contains(row.status) && row.outcome &&
           row.outcome->message.view() == kConcluded;
}

void Checker::OnConcluded(const Execution& execution) {
    const Execution* row = Find(execution.id);
    const bool stored = row && IsTerminal(row->status);
    if (!stored && !redrives_.contains(execution.id)) {
        Fail(Describe(execution) + " was confirmed as concluded before it was committed");
    }
}

// --- The end ------------------------------------------------------------------------------------

void Checker::CheckEnd(MemoryDatabase& database, bool quiet) {
    for (const ExecutionId& id : submitted_) {
        const auto found = database.FindExecutions(partition_, {id});
        const Execution& row = rows_.at(id);
        const bool purged = IsTerminal(row.status) && row.finished_at < purged_before_;
        if (!found || (!found->front() && !purged)) {
            Fail(id.text().str() + " was accepted and is lost");
        }
    }
    logs.CheckEnd(database, partition_);
    for (const auto& [id, row] : rows_) {
        if (!IsTerminal(row.status)) Fail(Describe(row) + " never ended");
        if (row.status == Status::kFailed && row.outcome &&
            row.outcome->reason == Reason::kHandlerFailed && row.failures == 0 &&
            !WasConcluded(row)) {
            Fail(Describe(row) + " failed without a failure");
        }
        if (!quiet || row.status == Status::kSkipped) continue;
        if (row.task->workflow()) {
            if (row.status != Status::kSuccess) Fail(Describe(row) + " although nothing failed");
            continue;
        }
        // When enough of a step have succeeded the rest is ended.
        if (!row.parent.empty() && row.status == Status::kCancelled) continue;
        if (row.status != Status::kSuccess || row.attempt != 1) {
            Fail(Describe(row) + " although nothing failed");
        }
        if (!started_.contains(KeyOf(row))) Fail(Describe(row) + " never ran");
    }
    const auto ran = std::ranges::count_if(
        rows_, [&](const auto& entry) { return started_.contains(KeyOf(entry.second)); });
    if (quiet && started_.size() != std::size_t(ran)) {
        Fail("something ran more than once");
    }
}

}  // namespace takt::internal::sim
