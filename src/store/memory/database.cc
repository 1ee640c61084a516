#include "store/memory/database.h"

#include <algorithm>

#include "store/refusals.h"

namespace takt::internal {

struct MemoryDatabase::Copy {
    Partitions partitions;
    Announcements nodes;
};

std::shared_ptr<const MemoryDatabase::Copy> MemoryDatabase::MakeCopy() {
    const std::lock_guard lock(mutex_);
    return std::make_shared<const Copy>(partitions_, nodes_);
}

void MemoryDatabase::PutBack(const Copy& copy) {
    const std::lock_guard lock(mutex_);
    partitions_ = copy.partitions;
    nodes_ = copy.nodes;
}

bool MemoryDatabase::Announced(const NodeId& node) const {
    const auto found = nodes_.find(node);
    return found != nodes_.end() && found->second.second > options_.clock();
}

Result<void> MemoryDatabase::Announce(const NodeRow& node, Duration ttl) {
    const std::lock_guard lock(mutex_);
    nodes_.erase(node.node);
    if (ttl > Duration(0)) nodes_.emplace(node.node, std::pair(node, options_.clock() + ttl));
    return {};
}

Result<std::vector<NodeRow>> MemoryDatabase::Nodes() {
    const std::lock_guard lock(mutex_);
    const Steady now = options_.clock();
    std::erase_if(nodes_, [&](const auto& item) { return item.second.second <= now; });
    std::vector<NodeRow> rows;
    for (const auto& [id, node] : nodes_) rows.push_back(node.first);
    return rows;
}

Result<std::vector<LeaderRow>> MemoryDatabase::Leaders() {
    const std::lock_guard lock(mutex_);
    std::vector<LeaderRow> rows;
    for (const auto& [partition, held] : partitions_) {
        if (held.leadership.last.epoch == 0) continue;
        rows.push_back(held.leadership.last);
        rows.back().announced = Announced(rows.back().node);
    }
    return rows;
}

Result<Term> MemoryDatabase::Acquire(const Candidate& candidate) {
    const std::lock_guard lock(mutex_);
    Leadership& row = partitions_[candidate.partition].leadership;
    const LeaderRow& last = row.last;
    const std::string node = last.node.text().str();
    if (!Announced(candidate.node)) {
        return Fail(ErrorCode::kConflict, candidate.node.text().str() + " is not announced");
    }
    if (last.nonce != 0 && last.node != candidate.node && Announced(last.node)) {
        return Fail(ErrorCode::kConflict, node + " leads");
    }
    const LeaderRow read = candidate.replaced.value_or(LeaderRow{});
    if (last.epoch != read.epoch || last.nonce != read.nonce) {
        return Fail(ErrorCode::kConflict, node + " has led since that was read");
    }
    const std::uint64_t epoch = std::max(last.epoch, candidate.epoch_floor) + 1;
    // Not random: a simulation must repeat itself. Distinct is all that a nonce has to be here.
    row.last = {candidate.partition, candidate.node, candidate.address, epoch, ++terms_};
    row.sequence = 0;
    return Term{candidate.partition, epoch, row.last.nonce};
}

Result<void> MemoryDatabase::Resign(const Term& term, const NodeId& successor) {
    const std::lock_guard lock(mutex_);
    LeaderRow& last = partitions_[term.partition].leadership.last;
    if (last.Is(term)) last = {term.partition, successor, {}, term.epoch, 0};
    return {};
}

Result<void> MemoryDatabase::Commit(const Batch& batch) {
    const std::lock_guard lock(mutex_);
    PartitionState& state = partitions_[batch.term.partition];
    Leadership& row = state.leadership;
    if (!row.last.Is(batch.term)) {
        return Fail(ErrorCode::kFenced, "the term is over");
    }
    if (batch.sequence <= row.sequence) return {};
    if (batch.sequence > row.sequence + 1) {
        return Fail(ErrorCode::kUnavailable, "an earlier batch was not applied");
    }
    if (Result<void> checked = state.rows.Check(batch.changes); !checked) return checked;
    row.sequence = batch.sequence;
    row.last_serial = std::max(row.last_serial, batch.last_serial);
    state.rows.Apply(batch.changes);
    return {};
}

Result<void> MemoryDatabase::DropPartition(Partition partition, std::uint64_t epoch) {
    const std::lock_guard lock(mutex_);
    if (partition == kDefaultPartition) return DefaultIsKept();
    PartitionState& state = partitions_[partition];
    if (state.leadership.last.epoch > epoch) return LedSince();
    state.rows = {};
    return {};
}

Result<LoadPage> MemoryDatabase::Load(Partition partition, const std::string& cursor) {
    const std::lock_guard lock(mutex_);
    const PartitionState& state = partitions_[partition];
    Result<LoadPage> page = state.rows.Load(cursor, options_.load_page_rows);
    if (page) page->last_serial = state.leadership.last_serial;
    return page;
}

Result<std::vector<std::optional<Execution>>> MemoryDatabase::FindExecutions(
    Partition partition, const std::vector<ExecutionId>& ids) {
    const std::lock_guard lock(mutex_);
    const PartitionRows& rows = partitions_[partition].rows;
    std::vector<std::optional<Execution>> found;
    for (const ExecutionId& id : ids) found.push_back(rows.FindExecution(id));
    return found;
}

Result<std::vector<Execution>> MemoryDatabase::ListExecutions(const ExecutionFilter& filter) {
    const std::lock_guard lock(mutex_);
    return partitions_[filter.partition].rows.ListExecutions(filter);
}

Result<TaskRow> MemoryDatabase::FindTask(Partition partition, const TaskId& id) {
    const std::lock_guard lock(mutex_);
    return partitions_[partition].rows.FindTask(id);
}

Result<std::vector<TaskRow>> MemoryDatabase::ListTasks(const TaskFilter& filter) {
    const std::lock_guard lock(mutex_);
    return partitions_[filter.partition].rows.ListTasks(filter);
}

Result<std::vector<Worker>> MemoryDatabase::ListWorkers(Partition partition) {
    const std::lock_guard lock(mutex_);
    return partitions_[partition].rows.ListWorkers();
}

Result<std::vector<SettingPut>> MemoryDatabase::ListSettings(Partition partition,
                                                             const Text& key_prefix) {
    const std::lock_guard lock(mutex_);
    return partitions_[partition].rows.ListSettings(key_prefix);
}

Result<std::vector<LogChunk>> MemoryDatabase::ReadLog(Partition partition,
                                                      const ExecutionId& execution, Serial after,
                                                      std::size_t limit) {
    const std::lock_guard lock(mutex_);
    return partitions_[partition].rows.ReadLog(execution, after, limit);
}

Result<std::vector<Event>> MemoryDatabase::ReadEvents(Partition partition, Serial after,
                                                      std::size_t limit) {
    const std::lock_guard lock(mutex_);
    return partitions_[partition].rows.ReadEvents(after, limit);
}

Result<std::vector<AuditRow>> MemoryDatabase::ReadAudit(Partition partition, Serial before,
                                                        std::size_t limit) {
    const std::lock_guard lock(mutex_);
    return partitions_[partition].rows.ReadAudit(before, limit);
}

}  // namespace takt::internal
