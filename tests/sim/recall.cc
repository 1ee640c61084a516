// The checkers after a failover that lost acknowledged writes. Each is a copy of itself from
// before: of what is stored it knows what the promoted replica has. What it is told here is what
// happened in the world since, which no store can undo.
#include <algorithm>

#include "sim/checker.h"

namespace takt::internal::sim {

void Checker::Recall(const Checker& later) {
    fires.Recall(later.fires);
    limits.Recall(later.limits);
    handlers.Recall(later.handlers);
    policies.Recall(later.policies);
    locks.Recall(later.locks);
    logs.Recall(later.logs);
    choices.Recall(later.choices);
    failure_ = later.failure_;
    commits_ = later.commits_;
    losses_ = later.losses_;
    attempts_ = later.attempts_;
    started_ = later.started_;
    ended_ = later.ended_;
    let_go_ = later.let_go_;
    capacities_ = later.capacities_;
    redrives_ = later.redrives_;
    concluding_ = later.concluding_;
    // Nothing else may be lost than what came after the copy.
    lost_ = later.lost_;
    for (const auto& [id, row] : later.rows_) {
        if (!rows_.contains(id)) lost_.insert(id);
    }
    std::erase_if(lost_, [&](const ExecutionId& id) { return rows_.contains(id); });
    submitted_ = later.submitted_;
    std::erase_if(submitted_, [&](const ExecutionId& id) { return !rows_.contains(id); });
    cancelled_ = later.cancelled_;
    std::erase_if(cancelled_, [&](const auto& entry) {
        const Execution* row = Find(entry.first);
        return !row || row->status != Status::kCancelled;
    });
}

void FireChecker::Recall(const FireChecker& later) {
    pause_asked_ = later.pause_asked_;
    due_times_ = later.due_times_;
}

void LimitChecker::Recall(const LimitChecker& later) {
    clock_latest_ = later.clock_latest_;
}

void PolicyChecker::Recall(const PolicyChecker& later) {
    clock_latest_ = later.clock_latest_;
    had_suspects_ = later.had_suspects_;
    // An attempt that is lost says nothing of the one that is given its number.
    sent_ = later.sent_;
    std::erase_if(sent_, [&](const auto& entry) {
        const auto row = live_.find(ExecutionId(Text(entry.first.first)));
        return row == live_.end() || row->second.after.token != entry.second.token;
    });
}

void LockChecker::Recall(const LockChecker& later) {
    given_ = later.given_;
    released_ = later.released_;
    // A holder that is lost says nothing of another that is given its id: ids are serials, and those
    // that the store lost come again while a clock is behind.
    leases_ = later.leases_;
    std::erase_if(leases_, [&](const auto& lease) { return !IsStored(lease.first); });
}

}  // namespace takt::internal::sim
