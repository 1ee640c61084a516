#include "store/memory/partition_rows.h"

#include <algorithm>
#include <ranges>

#include "base/number.h"
#include "store/list_page.h"
#include "store/matches.h"

namespace takt::internal {
namespace {

// Of payloads, results and records in one page of Load.
constexpr std::size_t kLoadBytes = 8u << 20;

// Erases rows below `end`, from the smallest on, at most `count_max`.
template <typename Row>
void EraseBelow(std::map<Serial, Row>& rows, Serial end, std::uint32_t count_max) {
    for (auto it = rows.begin(); it != rows.end() && it->first < end && count_max > 0;
         --count_max) {
        it = rows.erase(it);
    }
}

}  // namespace

Result<void> PartitionRows::Check(const std::vector<Change>& changes) const {
    for (const Change& change : changes) {
        if (const auto* execution = std::get_if<ExecutionChange>(&change)) {
            if (Result<void> checked = CheckPlace(*execution); !checked) return checked;
        } else if (const auto* record = std::get_if<RecordPut>(&change)) {
            if (record->value.size() <= kRecordBytesMax) continue;
            return Fail(ErrorCode::kInvalid, "record " + record->key.str() + " is too large");
        }
    }
    return {};
}

Result<void> PartitionRows::CheckPlace(const ExecutionChange& change) const {
    const Execution& row = change.row;
    const auto wrong = [&](std::string_view what) {
        return Fail(ErrorCode::kInvalid,
                    "execution " + row.id.text().str() + " " + std::string(what));
    };
    const bool known = serials_.contains(row.id.view());
    switch (change.before) {
        case Place::kNone:
            if (known) return wrong("exists already");
            if (live_.contains(row.serial) || history_.contains(row.serial)) {
                return wrong("has the serial of another one");
            }
            break;
        case Place::kLive:
            if (!known || !live_.contains(row.serial)) return wrong("is not live");
            break;
        case Place::kHistory:
            if (!known || !history_.contains(row.serial)) return wrong("is not in the history");
            break;
    }
    return {};
}

void PartitionRows::Apply(const std::vector<Change>& changes) {
    const Purge* purge = nullptr;
    for (const Change& change : changes) {
        if (const auto* found = std::get_if<Purge>(&change)) {
            purge = found;
        } else {
            std::visit([&](const auto& kind) { Apply(kind); }, change);
        }
    }
    if (purge) Apply(*purge);
}

void PartitionRows::Apply(const ExecutionChange& change) {
    const Execution& row = change.row;
    if (change.before == Place::kLive && change.after == Place::kLive) return Update(row);
    if (change.before == Place::kLive) live_.erase(row.serial);
    if (change.before == Place::kHistory) {
        const auto stored = history_.find(row.serial);
        kept_.erase({stored->second.finished_at, row.serial});
        history_.erase(stored);
    }
    (change.after == Place::kLive ? live_ : history_).insert_or_assign(row.serial, row);
    if (change.after == Place::kHistory && row.parent.empty()) {
        kept_.emplace(row.finished_at, row.serial);
    }
    if (!row.parent.empty()) children_[row.parent].insert(row.serial);
    serials_.insert_or_assign(row.id.text(), row.serial);
}

// As the databases do it, so that a simulation sees what they would keep.
void PartitionRows::Update(const Execution& row) {
    Execution& stored = live_.at(row.serial);
    Execution merged = row;
    merged.task = stored.task;
    merged.origin = stored.origin;
    merged.payload = stored.payload;
    merged.created_at = stored.created_at;
    merged.scheduled_at = stored.scheduled_at;
    merged.parent = stored.parent;
    merged.step = stored.step;
    merged.shard_index = stored.shard_index;
    merged.shard_total = stored.shard_total;
    merged.round = stored.round;
    stored = std::move(merged);
}

void PartitionRows::Apply(const TaskPut& change) {
    tasks_.insert_or_assign(change.row.task->id, change.row);
}

void PartitionRows::Apply(const TaskDelete& change) {
    tasks_.erase(change.id);
}

void PartitionRows::Apply(const WorkerPut& change) {
    workers_.insert_or_assign(change.row.id, change.row);
}

void PartitionRows::Apply(const WorkerDelete& change) {
    workers_.erase(change.id);
}

void PartitionRows::Apply(const SettingPut& change) {
    if (change.value.empty()) {
        settings_.erase(change.key);
    } else {
        settings_.insert_or_assign(change.key, change.value);
    }
}

void PartitionRows::Apply(const RecordPut& change) {
    if (change.value.empty()) {
        records_.erase({change.kind, change.key});
    } else {
        records_.insert_or_assign({change.kind, change.key}, change.value);
    }
}

void PartitionRows::Apply(const EventAppend& change) {
    events_.insert_or_assign(change.row.serial, change.row);
}

void PartitionRows::Apply(const AuditAppend& change) {
    audit_.insert_or_assign(change.row.serial, change.row);
}

void PartitionRows::Apply(const LogAppend& change) {
    logs_.insert_or_assign({change.row.execution, change.row.index}, change.row);
}

void PartitionRows::Apply(const Purge& change) {
    PurgeExecutions(change);
    EraseBelow(events_, SerialAt(change.events_before), change.count_max);
    EraseBelow(audit_, SerialAt(change.audit_before), change.count_max);
}

void PartitionRows::PurgeExecutions(const Purge& change) {
    std::uint32_t left = change.count_max;
    while (left > 0 && !kept_.empty() && kept_.begin()->first < change.finished_before) {
        const ExecutionId root = history_.at(kept_.begin()->second).id;
        PurgeTree(root, left);
    }
}

// Children may be runs themselves: theirs go before them.
void PartitionRows::PurgeTree(const ExecutionId& root, std::uint32_t& left) {
    while (left > 0) {
        const auto children = children_.find(root);
        if (children == children_.end()) break;
        const auto child = std::ranges::find_if(
            children->second, [&](Serial serial) { return history_.contains(serial); });
        if (child == children->second.end()) break;
        const ExecutionId id = history_.at(*child).id;
        PurgeTree(id, left);
    }
    if (left == 0) return;
    --left;
    Forget(root);
}

void PartitionRows::Forget(const ExecutionId& id) {
    const auto row = history_.find(serials_.at(id.text()));
    kept_.erase({row->second.finished_at, row->first});
    if (const auto family = children_.find(row->second.parent); family != children_.end()) {
        family->second.erase(row->first);
        if (family->second.empty()) children_.erase(family);
    }
    logs_.erase(logs_.lower_bound({id, 0}), logs_.upper_bound({id, UINT64_MAX}));
    serials_.erase(id.text());
    history_.erase(row);
}

// A cursor is the serial of the last execution, or "r", kind and key of the last record.
Result<LoadPage> PartitionRows::Load(const std::string& cursor, std::size_t rows_max) const {
    LoadPage page;
    if (cursor.empty()) {
        for (const auto& [key, value] : settings_) page.settings.push_back({key, value});
        for (const auto& [id, worker] : workers_) page.workers.push_back(worker);
        for (const auto& [id, task] : tasks_) page.tasks.push_back(task);
    }
    Serial after = 0;
    if (cursor.empty() || cursor.starts_with('r')) {
        const std::string_view last(cursor);
        if (LoadRecords(last.substr(last.empty() ? 0 : 1), rows_max, page)) return page;
    } else if (const auto serial = ParseNumber<Serial>(cursor)) {
        after = *serial;
    } else {
        return Fail(ErrorCode::kInvalid, "not a cursor of Load", "cursor");
    }
    LoadExecutions(after, rows_max, page);
    return page;
}

// Whether there are more. `after` is empty, or a kind's digit and a key.
bool PartitionRows::LoadRecords(std::string_view after, std::size_t rows_max,
                                LoadPage& page) const {
    auto row = records_.begin();
    if (!after.empty()) {
        row =
            records_.upper_bound({static_cast<RecordKind>(after[0] - '0'), Text(after.substr(1))});
    }
    std::size_t bytes = 0;
    for (; row != records_.end() && page.records.size() < rows_max && bytes < kLoadBytes; ++row) {
        page.records.push_back({row->first.first, row->first.second, row->second});
        bytes += row->second.size();
    }
    if (row == records_.end()) return false;
    const RecordPut& last = page.records.back();
    page.next = "r" + std::to_string(static_cast<int>(last.kind)) + last.key.str();
    return true;
}

void PartitionRows::LoadExecutions(Serial after, std::size_t rows_max, LoadPage& page) const {
    auto row = live_.upper_bound(after);
    std::size_t bytes = 0;
    for (; row != live_.end() && page.executions.size() < rows_max && bytes < kLoadBytes; ++row) {
        page.executions.push_back(row->second);
        bytes += ListBytes(row->second);
    }
    if (row != live_.end()) page.next = std::to_string(page.executions.back().serial);
}

std::optional<Execution> PartitionRows::FindExecution(const ExecutionId& id) const {
    const auto serial = serials_.find(id.view());
    if (serial == serials_.end()) return std::nullopt;
    const auto live = live_.find(serial->second);
    return live != live_.end() ? live->second : history_.at(serial->second);
}

std::vector<Execution> PartitionRows::ListExecutions(const ExecutionFilter& filter) const {
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
    collect(live_);
    std::ranges::sort(found, std::greater<>(), &Execution::serial);
    return MakeListPage(filter, std::move(found));
}

Result<TaskRow> PartitionRows::FindTask(const TaskId& id) const {
    const auto row = tasks_.find(id);
    if (row == tasks_.end()) return NoSuchTask(id);
    return row->second;
}

std::vector<TaskRow> PartitionRows::ListTasks(const TaskFilter& filter) const {
    std::vector<TaskRow> list;
    for (auto row = tasks_.upper_bound(TaskId(Text(filter.after)));
         row != tasks_.end() && list.size() < filter.limit; ++row) {
        const std::string_view name = row->second.task->name.view();
        if (name.find(filter.name_contains.view()) == std::string_view::npos) continue;
        list.push_back(row->second);
    }
    return list;
}

std::vector<Worker> PartitionRows::ListWorkers() const {
    const auto workers = std::views::values(workers_);
    return {workers.begin(), workers.end()};
}

std::vector<SettingPut> PartitionRows::ListSettings(const Text& key_prefix) const {
    std::vector<SettingPut> list;
    for (const auto& [key, value] : settings_) {
        if (key.view().starts_with(key_prefix.view())) list.push_back({key, value});
    }
    return list;
}

std::vector<LogChunk> PartitionRows::ReadLog(const ExecutionId& execution, Serial after,
                                             std::size_t limit) const {
    std::vector<LogChunk> list;
    for (auto it = logs_.upper_bound({execution, after});
         it != logs_.end() && it->first.first == execution && list.size() < limit; ++it) {
        list.push_back(it->second);
    }
    return list;
}

std::vector<Event> PartitionRows::ReadEvents(Serial after, std::size_t limit) const {
    std::vector<Event> list;
    for (auto it = events_.upper_bound(after); it != events_.end() && list.size() < limit; ++it) {
        list.push_back(it->second);
    }
    return list;
}

std::vector<AuditRow> PartitionRows::ReadAudit(Serial before, std::size_t limit) const {
    std::vector<AuditRow> list;
    auto it = before == 0 ? audit_.end() : audit_.lower_bound(before);
    while (it != audit_.begin() && list.size() < limit) list.push_back((--it)->second);
    return list;
}

}  // namespace takt::internal
