#include "store/memory/database.h"

#include <algorithm>
#include <charconv>

#include "store/list_page.h"
#include "store/matches.h"

namespace takt::internal {
namespace {

// Of payloads and results in one page of Load.
constexpr std::size_t kLoadBytes = 8u << 20;

Partition PartitionOf(Serial serial) {
    return static_cast<Partition>(serial >> 14);
}

}  // namespace

Result<Term> MemoryDatabase::Acquire(const Candidate& candidate) {
    const std::lock_guard lock(mutex_);
    Leadership& row = partitions_[candidate.partition].leadership;
    const Steady now = options_.clock();
    if (row.nonce != 0 && row.expires > now && row.leader.node != candidate.node) {
        return Fail(ErrorCode::kConflict, row.leader.node.text().str() + " leads");
    }
    const std::uint64_t epoch = std::max(row.leader.epoch, candidate.epoch_floor) + 1;
    row.leader = {candidate.node, candidate.address, epoch};
    // Not random: a simulation must repeat itself. Distinct is all that a nonce has to be here.
    row.nonce = ++terms_;
    row.sequence = 0;
    row.expires = now + candidate.ttl;
    return Term{candidate.partition, epoch, row.nonce};
}

Result<void> MemoryDatabase::Renew(const Term& term, Duration ttl) {
    const std::lock_guard lock(mutex_);
    Leadership& row = partitions_[term.partition].leadership;
    const Steady now = options_.clock();
    if (row.nonce != term.nonce || row.leader.epoch != term.epoch || row.expires <= now) {
        return Fail(ErrorCode::kFenced, "the term is over");
    }
    row.expires = now + ttl;
    return {};
}

Result<void> MemoryDatabase::Resign(const Term& term) {
    const std::lock_guard lock(mutex_);
    Leadership& row = partitions_[term.partition].leadership;
    if (row.nonce == term.nonce && row.leader.epoch == term.epoch) row.nonce = 0;
    return {};
}

Result<std::optional<LeaderRow>> MemoryDatabase::Leader(Partition partition) {
    const std::lock_guard lock(mutex_);
    const Leadership& row = partitions_[partition].leadership;
    if (row.nonce == 0 || row.expires <= options_.clock()) return std::nullopt;
    return row.leader;
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

Result<void> MemoryDatabase::Commit(const Batch& batch) {
    const std::lock_guard lock(mutex_);
    PartitionRows& rows = partitions_[batch.term.partition];
    rows.partition = batch.term.partition;
    Leadership& row = rows.leadership;
    if (row.nonce != batch.term.nonce || row.leader.epoch != batch.term.epoch) {
        return Fail(ErrorCode::kFenced, "the term is over");
    }
    if (batch.sequence <= row.sequence) return {};
    if (batch.sequence > row.sequence + 1) {
        return Fail(ErrorCode::kUnavailable, "an earlier batch was not applied");
    }
    if (Result<void> checked = Check(rows, batch); !checked) return checked;
    row.sequence = batch.sequence;
    row.last_serial = std::max(row.last_serial, batch.last_serial);
    const Purge* purge = nullptr;
    for (const Change& change : batch.changes) {
        if (const auto* found = std::get_if<Purge>(&change)) {
            purge = found;
        } else {
            std::visit([&](const auto& kind) { Apply(rows, kind); }, change);
        }
    }
    if (purge) Apply(rows, *purge);
    return {};
}

Result<void> MemoryDatabase::Check(const PartitionRows& rows, const Batch& batch) const {
    for (const Change& change : batch.changes) {
        const auto* execution = std::get_if<ExecutionChange>(&change);
        if (!execution) continue;
        if (Result<void> checked = CheckPlace(rows, *execution); !checked) return checked;
    }
    return {};
}

Result<void> MemoryDatabase::CheckPlace(const PartitionRows& rows,
                                        const ExecutionChange& change) const {
    const Execution& row = change.row;
    const auto wrong = [&](std::string_view what) {
        return Fail(ErrorCode::kInvalid,
                    "execution " + row.id.text().str() + " " + std::string(what));
    };
    const bool known = serials_.contains(row.id.view());
    switch (change.before) {
        case Place::kNone:
            if (known) return wrong("exists already");
            if (rows.live.contains(row.serial) || history_.contains(row.serial)) {
                return wrong("has the serial of another one");
            }
            break;
        case Place::kLive:
            if (!known || !rows.live.contains(row.serial)) return wrong("is not live");
            break;
        case Place::kHistory:
            if (!known || !history_.contains(row.serial)) return wrong("is not in the history");
            break;
    }
    return {};
}

void MemoryDatabase::Apply(PartitionRows& rows, const ExecutionChange& change) {
    const Execution& row = change.row;
    if (change.before == Place::kLive && change.after == Place::kLive) {
        // As the databases do it, so that a simulation sees what they would keep.
        Execution& stored = rows.live.at(row.serial);
        Execution merged = row;
        merged.task = stored.task;
        merged.origin = stored.origin;
        merged.payload = stored.payload;
        merged.created_at = stored.created_at;
        merged.scheduled_at = stored.scheduled_at;
        stored = std::move(merged);
        return;
    }
    if (change.before == Place::kLive) rows.live.erase(row.serial);
    if (change.before == Place::kHistory) history_.erase(row.serial);
    (change.after == Place::kLive ? rows.live : history_).insert_or_assign(row.serial, row);
    if (change.after == Place::kHistory) oldest_ = std::min(oldest_, row.finished_at);
    serials_.insert_or_assign(row.id.text(), row.serial);
}

void MemoryDatabase::Apply(PartitionRows& rows, const TaskPut& change) {
    rows.tasks.insert_or_assign(change.row.task->id, change.row);
}

void MemoryDatabase::Apply(PartitionRows& rows, const TaskDelete& change) {
    rows.tasks.erase(change.id);
}

void MemoryDatabase::Apply(PartitionRows& rows, const WorkerPut& change) {
    rows.workers.insert_or_assign(change.row.id, change.row);
}

void MemoryDatabase::Apply(PartitionRows& rows, const WorkerDelete& change) {
    rows.workers.erase(change.id);
}

void MemoryDatabase::Apply(PartitionRows& rows, const SettingPut& change) {
    if (change.value.empty()) {
        rows.settings.erase(change.key);
    } else {
        rows.settings.insert_or_assign(change.key, change.value);
    }
}

void MemoryDatabase::Apply(PartitionRows&, const EventAppend& change) {
    events_.insert_or_assign(change.row.serial, change.row);
}

void MemoryDatabase::Apply(PartitionRows&, const LogAppend& change) {
    logs_.insert_or_assign({change.row.execution, change.row.index}, change.row);
}

void MemoryDatabase::Apply(PartitionRows& rows, const Purge& change) {
    PurgeExecutions(rows.partition, change);
    const Serial bound = SerialAt(change.events_before);
    std::uint32_t count = 0;
    for (auto it = events_.begin();
         it != events_.end() && it->first < bound && count < change.count_max;) {
        const bool own = PartitionOf(it->first) == rows.partition;
        it = own ? (++count, events_.erase(it)) : std::next(it);
    }
}

void MemoryDatabase::PurgeExecutions(Partition partition, const Purge& change) {
    // A purge comes with many a commit, and mostly finds nothing.
    if (oldest_ >= change.finished_before) return;
    oldest_ = Time::max();
    std::vector<std::pair<Time, Serial>> old;
    for (const auto& [serial, row] : history_) {
        if (PartitionOf(serial) == partition && row.finished_at < change.finished_before) {
            old.emplace_back(row.finished_at, serial);
        } else {
            oldest_ = std::min(oldest_, row.finished_at);
        }
    }
    std::ranges::sort(old);
    if (old.size() > change.count_max) {
        oldest_ = std::min(oldest_, old[change.count_max].first);
        old.resize(change.count_max);
    }
    for (const auto& [finished_at, serial] : old) {
        const auto found = history_.find(serial);
        const ExecutionId id = found->second.id;
        logs_.erase(logs_.lower_bound({id, 0}), logs_.upper_bound({id, UINT64_MAX}));
        serials_.erase(id.text());
        history_.erase(found);
    }
}

Result<LoadPage> MemoryDatabase::Load(Partition partition, const std::string& cursor) {
    const std::lock_guard lock(mutex_);
    const PartitionRows& rows = partitions_[partition];
    LoadPage page;
    page.last_serial = rows.leadership.last_serial;
    Serial after = 0;
    if (cursor.empty()) {
        for (const auto& [key, value] : rows.settings) page.settings.push_back({key, value});
        for (const auto& [id, worker] : rows.workers) page.workers.push_back(worker);
        for (const auto& [id, task] : rows.tasks) page.tasks.push_back(task);
    } else {
        const auto [end, error] =
            std::from_chars(cursor.data(), cursor.data() + cursor.size(), after);
        if (error != std::errc() || end != cursor.data() + cursor.size()) {
            return Fail(ErrorCode::kInvalid, "not a cursor of Load", "cursor");
        }
    }
    auto row = rows.live.upper_bound(after);
    std::size_t bytes = 0;
    for (; row != rows.live.end() && page.executions.size() < options_.load_page_rows &&
           bytes < kLoadBytes;
         ++row) {
        page.executions.push_back(row->second);
        bytes += ListBytes(row->second);
    }
    if (row != rows.live.end()) page.next = std::to_string(page.executions.back().serial);
    return page;
}

const Execution* MemoryDatabase::Find(const ExecutionId& id) const {
    const auto serial = serials_.find(id.view());
    if (serial == serials_.end()) return nullptr;
    if (const auto row = history_.find(serial->second); row != history_.end()) return &row->second;
    for (const auto& [partition, rows] : partitions_) {
        if (const auto row = rows.live.find(serial->second); row != rows.live.end()) {
            return &row->second;
        }
    }
    return nullptr;
}

Result<std::vector<std::optional<Execution>>> MemoryDatabase::FindExecutions(
    const std::vector<ExecutionId>& ids) {
    const std::lock_guard lock(mutex_);
    std::vector<std::optional<Execution>> found;
    for (const ExecutionId& id : ids) {
        const Execution* row = Find(id);
        found.push_back(row ? std::optional(*row) : std::nullopt);
    }
    return found;
}

Result<std::vector<Execution>> MemoryDatabase::ListExecutions(const ExecutionFilter& filter) {
    const std::lock_guard lock(mutex_);
    std::vector<Execution> found;
    // The newest `limit` of each map are enough for the newest `limit` of all.
    const auto collect = [&](const Rows& rows) {
        std::size_t count = 0;
        for (auto row = rows.rbegin(); row != rows.rend() && count < filter.limit; ++row) {
            if (!Matches(filter, row->second)) continue;
            found.push_back(row->second);
            ++count;
        }
    };
    collect(history_);
    for (const auto& [partition, rows] : partitions_) collect(rows.live);
    std::ranges::sort(found, std::greater<>(), &Execution::serial);
    return MakeListPage(filter, std::move(found));
}

Result<TaskRow> MemoryDatabase::FindTask(const TaskId& id) {
    const std::lock_guard lock(mutex_);
    for (const auto& [partition, rows] : partitions_) {
        if (const auto row = rows.tasks.find(id); row != rows.tasks.end()) return row->second;
    }
    return NoSuchTask(id);
}

Result<std::vector<TaskRow>> MemoryDatabase::ListTasks(const TaskFilter& filter) {
    const std::lock_guard lock(mutex_);
    std::map<std::string_view, const TaskRow*> found;
    for (const auto& [partition, rows] : partitions_) {
        for (const auto& [id, row] : rows.tasks) {
            if (id.view() <= std::string_view(filter.after)) continue;
            if (row.task->name.view().find(filter.name_contains.view()) == std::string_view::npos) {
                continue;
            }
            found.emplace(id.view(), &row);
        }
    }
    std::vector<TaskRow> list;
    for (const auto& [id, row] : found) {
        if (list.size() == filter.limit) break;
        list.push_back(*row);
    }
    return list;
}

Result<std::vector<Worker>> MemoryDatabase::ListWorkers() {
    const std::lock_guard lock(mutex_);
    std::map<WorkerId, Worker> found;
    for (const auto& [partition, rows] : partitions_) {
        found.insert(rows.workers.begin(), rows.workers.end());
    }
    std::vector<Worker> list;
    for (auto& [id, worker] : found) list.push_back(std::move(worker));
    return list;
}

Result<std::vector<SettingPut>> MemoryDatabase::ListSettings(const Text& key_prefix) {
    const std::lock_guard lock(mutex_);
    std::map<Text, Text> found;
    for (const auto& [partition, rows] : partitions_) {
        for (const auto& [key, value] : rows.settings) {
            if (key.view().starts_with(key_prefix.view())) found.emplace(key, value);
        }
    }
    std::vector<SettingPut> list;
    for (const auto& [key, value] : found) list.push_back({key, value});
    return list;
}

Result<std::vector<LogChunk>> MemoryDatabase::ReadLog(const ExecutionId& execution, Serial after,
                                                      std::size_t limit) {
    const std::lock_guard lock(mutex_);
    std::vector<LogChunk> list;
    for (auto it = logs_.upper_bound({execution, after});
         it != logs_.end() && it->first.first == execution && list.size() < limit; ++it) {
        list.push_back(it->second);
    }
    return list;
}

Result<std::vector<Event>> MemoryDatabase::ReadEvents(Serial after, std::size_t limit) {
    const std::lock_guard lock(mutex_);
    std::vector<Event> list;
    for (auto it = events_.upper_bound(after); it != events_.end() && list.size() < limit; ++it) {
        list.push_back(it->second);
    }
    return list;
}

}  // namespace takt::internal
