#include "sim/choice_checker.h"

#include <algorithm>

#include "model/workflow.h"
#include "sim/kinds.h"

namespace takt::internal::sim {
namespace {

constexpr std::string_view kQueuePrefix = "queue/";
// A wish of an operator is done, or was lost, within this.
constexpr Micros kAskUnderWay = 30s;
// A step, a commit and a message take some milliseconds when nothing fails. A heartbeat, which would
// feed a worker that was forgotten, comes each second.
constexpr Micros kLiesReady = 300ms;

bool Began(const RowMove& move) {
    return move.after.attempt > move.before.attempt && !move.after.task->workflow();
}

// Whether nothing but a worker is in its way once its time has come.
bool IsPlain(const Execution& row) {
    const TaskOptions& options = row.task->opt();
    return row.origin == Origin::kOnce && row.parent.empty() && !row.task->workflow() &&
           options.concurrency_max == 0 && options.rate.count == 0 && options.locks.empty();
}

// As docs/scheduling.md says it: the higher priority; with ageing to have waited so long counts as one
// more.
bool IsMoreUrgent(const Execution& a, const Execution& b, Duration ageing) {
    if (ageing == Duration(0)) return a.task->priority > b.task->priority;
    const auto rank = [&](const Execution& row) {
        return row.ready_at - int(row.task->priority) * ageing;
    };
    return rank(a) < rank(b);
}

}  // namespace

void ChoiceChecker::OnCommit(const Batch& batch, const std::vector<RowMove>& moves) {
    ++commits_;
    CheckMaintenance(batch);
    workers_.OnCommit(batch, commits_);
    strategies.OnCommit(batch, commits_);
    for (const Change& change : batch.changes) {
        const auto* setting = std::get_if<SettingPut>(&change);
        if (!setting || !setting->key.view().starts_with(kQueuePrefix)) continue;
        queues_[Text(setting->key.view().substr(kQueuePrefix.size()))] = {commits_,
                                                                          !setting->value.empty()};
    }
    for (const RowMove& move : moves) {
        const Execution& row = move.after;
        if (Began(move)) {
            begun_[{row.id, row.attempt}] = {commits_, batch.term.epoch};
            CheckServed(row);
        }
        // A service cannot be told to stop: what was ended without it takes no room there.
        const SeenWorker* worker = workers_.Find(move.before.worker);
        const bool over = move.before.task && IsWorking(move.before.status) &&
                          (!IsWorking(row.status) || row.attempt != move.before.attempt);
        if (over && worker && worker->row.link == LinkKind::kPush) {
            workers_.OnEnd({row.id, move.before.attempt, move.before.token});
        }
        if (IsTerminal(row.status)) {
            live_.erase(row.id);
        } else {
            live_[row.id] = {row, {commits_, batch.term.epoch}};
        }
    }
    if (nothing_fails) CheckNobodyIdle();
}

// --- Kinds --------------------------------------------------------------------------------------

void ChoiceChecker::CheckServed(const Execution& row) {
    const SeenWorker* worker = workers_.Find(row.worker);
    // Of one that comes back as another in the same batch it is not told as what it was given that.
    if (!worker || worker->changed == commits_ || !worker->known) return;
    if (CanRun(worker->row, *row.task)) return;
    fail_(row.id.text().str() + " was given to " + row.worker.text().str() +
          ", which does not serve it");
}

void ChoiceChecker::OnStart(const Worker& worker, const Execution& execution) {
    if (CanRun(worker, *execution.task)) return;
    fail_(execution.id.text().str() + " arrived at " + worker.id.text().str() +
          ", which does not serve it");
}

// --- Operators ----------------------------------------------------------------------------------

void ChoiceChecker::OnStatusAsked(const std::string& worker, WorkerStatus status) {
    if (status != WorkerStatus::kMaintenance) put_back_[worker] = world_.now();
}

// Only an operator ends it, whatever becomes of its process or of the leader.
void ChoiceChecker::CheckMaintenance(const Batch& batch) {
    for (const Change& change : batch.changes) {
        const auto* put = std::get_if<WorkerPut>(&change);
        const auto* gone = std::get_if<WorkerDelete>(&change);
        if (!put && !gone) continue;
        const WorkerId& id = put ? put->row.id : gone->id;
        const bool aside = put && put->row.status == WorkerStatus::kMaintenance;
        if (!std::exchange(set_aside_[id], aside) || aside) continue;
        const std::string name = id.text().str();
        const auto asked = put_back_.find(name);
        if (asked != put_back_.end() && world_.now() - asked->second < kAskUnderWay) continue;
        fail_(name + " was in maintenance and is not, though nobody asked for that");
    }
}

// --- Order --------------------------------------------------------------------------------------

void ChoiceChecker::OnAssign(const Execution& execution, const Decided& decided,
                             const EngineConfig& config) {
    CheckOrder(execution, decided.at, config.ageing);
    const auto begun = begun_.find({execution.id, execution.attempt});
    // An execution that a tired step left in a lane is taken by whoever comes first.
    const bool small_steps = config.changes_per_step < EngineConfig().changes_per_step;
    if (nothing_fails && !small_steps && begun != begun_.end()) {
        strategies.OnAssign(execution, begun->second.commit, config.strategy);
    }
    workers_.OnAssign(execution);
}

// Whether it lay ready, in front of no gate, from before the batch of another until now. By the clock
// of another leader its time may not have come yet.
bool ChoiceChecker::LayReady(const Row& row, const Written& begun, Time at) const {
    const Execution& other = row.execution;
    if (other.status != Status::kPending || other.attempt != 0 || !IsPlain(other)) return false;
    return row.written.commit < begun.commit && row.written.epoch == begun.epoch &&
           other.scheduled_at <= other.created_at && other.ready_at <= at;
}

void ChoiceChecker::CheckOrder(const Execution& execution, Time at, Duration ageing) {
    const auto begun = begun_.find({execution.id, execution.attempt});
    const SeenWorker* worker = workers_.Find(execution.worker);
    if (begun == begun_.end() || !worker || !worker->known) return;
    const std::uint64_t commit = begun->second.commit;
    if (worker->changed >= commit) return;
    for (const auto& [id, row] : live_) {
        const Execution& other = row.execution;
        if (!LayReady(row, begun->second, at) || !CanRun(worker->row, *other.task)) continue;
        // That something of a queue began tells that it was open; of another one nothing does.
        const auto queue = queues_.find(other.task->queue);
        const bool open = other.task->queue == execution.task->queue || queue == queues_.end() ||
                          (!queue->second.limited && queue->second.changed < commit);
        if (!open || !IsMoreUrgent(other, execution, ageing)) continue;
        // By a clock that is set they came in another order than they stand.
        if (ageing > Duration(0) && world_.clocks_set > 0) continue;
        fail_(execution.id.text().str() + " was started before " + id.text().str() +
              ", which is more urgent");
    }
}

// --- Nobody is idle -----------------------------------------------------------------------------

void ChoiceChecker::CheckNobodyIdle() {
    for (const auto& [id, row] : live_) {
        const Execution& other = row.execution;
        if (other.status != Status::kPending || !IsPlain(other)) continue;
        const Duration lay = world_.wall() - std::max(other.ready_at, other.created_at);
        if (Micros(lay) <= kLiesReady) continue;
        for (const auto& [worker, seen] : workers_.all()) {
            if (!workers_.HadRoom(seen, kLiesReady) || !CanRun(seen.row, *other.task)) continue;
            fail_(id.text().str() + " lay ready although " + worker.text().str() + " had room");
        }
    }
}

void ChoiceChecker::Recall(const ChoiceChecker& later) {
    workers_.Recall(later.workers_);
    put_back_ = later.put_back_;
}

}  // namespace takt::internal::sim
