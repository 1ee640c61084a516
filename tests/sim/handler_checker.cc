#include "sim/handler_checker.h"

namespace takt::internal::sim {
namespace {

// A cancel is decided so long before it is committed, at most, without the time to stop beginning anew.
constexpr Duration kDecidedBefore{600};

// Whether the task's turns are for one at a time, by this execution's version, and it needs one.
bool NeedsTurn(const Execution& row) {
    const bool own = row.origin == Origin::kFire || row.origin == Origin::kTrigger;
    return own && !row.task->workflow() && row.payload != kForcedPayload &&
           row.task->opt().mode != Mode::kParallel;
}

// Whether its last attempt had its timeout, and the time to stop after it, before the execution ended.
bool RanOutOfTime(const Execution& row) {
    if (!row.outcome || row.outcome->past.empty()) return false;
    const PastAttempt& last = row.outcome->past.back();
    return last.attempt == row.attempt && last.reason == Reason::kTimeout;
}

}  // namespace

void HandlerChecker::OnCommit(const Batch& batch, const std::vector<RowMove>& moves, Steady sent,
                              const EngineConfig& config) {
    for (const RowMove& move : moves) {
        const Execution& row = move.after;
        if (row.status != Status::kCancelled || RanOutOfTime(row)) continue;
        const auto found = handlers_.find({row.id.text().str(), row.attempt, row.token});
        if (found == handlers_.end() || !IsWorking(move.before.status)) continue;
        found->second.waited_until = world_.now() + config.timeout_grace - kDecidedBefore;
    }
    FollowWorkers(batch, sent, config);
}

// Handlers of a lost worker are not waited for.
void HandlerChecker::FollowWorkers(const Batch& batch, Steady sent, const EngineConfig& config) {
    for (const Change& change : batch.changes) {
        if (const auto* put = std::get_if<WorkerPut>(&change)) {
            const std::string name = put->row.id.text().str();
            if (put->row.status == WorkerStatus::kOffline) OnDeath(name);
            const bool maintained = put->row.status == WorkerStatus::kMaintenance;
            maintained ? void(maintained_.insert(name)) : void(maintained_.erase(name));
        } else if (const auto* gone = std::get_if<WorkerDelete>(&change)) {
            OnDeath(gone->id.text().str());
            maintained_.erase(gone->id.text().str());
        } else if (const auto* event = std::get_if<EventAppend>(&change)) {
            // The row of one in maintenance stays as it is, and that of one that leaves goes with the
            // last of what it had in hand, by a later step perhaps.
            const EventType type = event->row.type;
            if (type == EventType::kWorkerOffline || type == EventType::kWorkerLeft)
                OnDeath(event->row.worker.text().str());
        }
    }
    // Of one in maintenance that was cut off with nothing in hand but handlers that are to stop,
    // nothing is written when its lease is over.
    for (const std::string& name : maintained_) {
        const auto heard = heard_.find(name);
        const bool lost = heard == heard_.end() || heard->second + config.worker_lease <= sent;
        if (lost) OnDeath(name);
    }
}

void HandlerChecker::OnStart(const Execution& execution, const std::string& worker) {
    if (!NeedsTurn(execution)) return;
    const TaskRow* task = fires_.Find(execution.task->id);
    for (const auto& [key, handler] : handlers_) {
        const Task& other = *handler.execution.task;
        const bool same =
            task && other.id == execution.task->id && other.version == execution.task->version &&
            other.version == task->task->version && other.created_at == execution.task->created_at;
        if (!same || world_.now() >= handler.waited_until) continue;
        fail_(execution.id.text().str() + " began beside the handler of " +
              handler.execution.id.text().str() + ", which was cancelled and had yet to stop");
    }
    handlers_[{execution.id.text().str(), execution.attempt, execution.token}] = {execution,
                                                                                  worker};
}

void HandlerChecker::OnEnd(const AttemptRef& attempt) {
    handlers_.erase({attempt.execution.text().str(), attempt.attempt, attempt.token});
}

void HandlerChecker::OnDeath(const std::string& worker) {
    std::erase_if(handlers_, [&](const auto& entry) { return entry.second.worker == worker; });
}

}  // namespace takt::internal::sim
