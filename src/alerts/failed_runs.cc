#include "alerts/failed_runs.h"

namespace takt::internal {

void FailedRuns::Note(const ExecutionChange& change) {
    const Execution& row = change.row;
    const bool ended = change.after == Place::kHistory && change.before != Place::kHistory;
    if (!ended || row.status != Status::kFailed || row.origin == Origin::kOnce) return;
    // The steps of a workflow end with their run, which is what the task did.
    if (!row.parent.empty()) return;
    if (failures_.size() >= kFailuresMax) ForgetFirst();
    failures_.push_back({row.finished_at, row.task});
    Count& count = counts_[row.task->id.text()];
    count.task = row.task;
    ++count.failures;
}

void FailedRuns::Clear() {
    failures_.clear();
    counts_.clear();
}

void FailedRuns::ForgetFirst() {
    const auto count = counts_.find(failures_.front().task->id.text());
    if (--count->second.failures == 0) counts_.erase(count);
    failures_.pop_front();
}

void FailedRuns::Read(Time now, AlertReadings& readings) {
    while (!failures_.empty() && failures_.front().at + kAlertWindow <= now) ForgetFirst();
    for (const auto& [id, count] : counts_) {
        readings.push_back({.metric = kFailedRunsMetric,
                            .value = static_cast<double>(count.failures),
                            .subject = id,
                            .subject_name = count.task->name});
    }
}

}  // namespace takt::internal
