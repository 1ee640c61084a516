#include "sim/workers_seen.h"

#include <algorithm>

#include "sim/kinds.h"

namespace takt::internal::sim {
namespace {

constexpr std::size_t kCountsKept = 128;
// A report, and what is decided by it, takes less when nothing fails.
constexpr Micros kReported = 200ms;

}  // namespace

void WorkersSeen::OnCommit(const Batch& batch, std::uint64_t commit) {
    for (const Change& change : batch.changes) {
        if (const auto* gone = std::get_if<WorkerDelete>(&change)) {
            workers_[gone->id].known = false;
        }
        const auto* put = std::get_if<WorkerPut>(&change);
        if (!put) continue;
        SeenWorker& worker = workers_[put->row.id];
        if (!worker.known || worker.row.status != put->row.status ||
            !OffersTheSame(worker.row, put->row)) {
            worker.changed = commit;
            worker.changed_at = world_.now();
        }
        worker.known = true;
        worker.row = put->row;
    }
}

void WorkersSeen::Count(SeenWorker& worker) {
    worker.counts.emplace_back(world_.now(), Most(worker));
    if (worker.counts.size() > kCountsKept) worker.counts.pop_front();
}

void WorkersSeen::OnAssign(const Execution& execution) {
    SeenWorker& worker = workers_[execution.worker];
    worker.hand[{execution.id.text().str(), execution.attempt}] = execution.token;
    Count(worker);
}

void WorkersSeen::OnEnd(const AttemptRef& attempt) {
    for (auto& [id, worker] : workers_) {
        const auto found = worker.hand.find({attempt.execution.text().str(), attempt.attempt});
        if (found == worker.hand.end() || found->second != attempt.token) continue;
        worker.hand.erase(found);
        worker.ended.push_back(world_.now());
        if (worker.ended.size() > kCountsKept) worker.ended.pop_front();
        Count(worker);
    }
}

const SeenWorker* WorkersSeen::Find(const WorkerId& id) const {
    const auto found = workers_.find(id);
    return found == workers_.end() ? nullptr : &found->second;
}

std::size_t WorkersSeen::Most(const SeenWorker& worker) const {
    const auto lately = std::ranges::count_if(
        worker.ended, [&](Steady at) { return at + kReported > world_.now(); });
    return worker.hand.size() + std::size_t(lately);
}

std::size_t WorkersSeen::Most(const SeenWorker& worker, Micros last) const {
    std::size_t most = Most(worker);
    for (auto count = worker.counts.rbegin(); count != worker.counts.rend(); ++count) {
        most = std::max(most, count->second);
        if (count->first + last < world_.now()) break;
    }
    return most;
}

bool WorkersSeen::HadRoom(const SeenWorker& worker, Micros last) const {
    return worker.known && worker.row.status == WorkerStatus::kOnline &&
           world_.now() - worker.changed_at > last && Most(worker, last) < worker.row.capacity;
}

void WorkersSeen::Recall(const WorkersSeen& later) {
    for (const auto& [id, worker] : later.workers_) {
        workers_[id].hand = worker.hand;
        workers_[id].counts = worker.counts;
    }
}

}  // namespace takt::internal::sim
