#include "store/etcd/reader_rows.h"

#include <algorithm>

#include "base/log.h"
#include "model/record.h"
#include "store/etcd/pack.h"

namespace takt::internal::etcd {
namespace {

constexpr std::size_t kTaskPageRows = 500;
constexpr std::size_t kEventPacks = 16;
// Chunks of each of a hundred logs in one answer: most have no more, and some megabytes are the most.
constexpr std::size_t kLogBeginning = 4;

std::vector<LogChunk> ChunksOf(const ExecutionId& execution, const Rows& rows) {
    std::vector<LogChunk> list;
    for (const pb::KeyValue& kv : rows.kvs) {
        const std::optional<std::uint64_t> index = ParseHex(LastPart(kv.key()));
        if (!index) continue;  // Not a key of ours.
        Result<LogChunk> chunk = DecodeLogChunk(execution, *index, kv.value());
        if (!chunk) {
            chunk = LogChunk{execution, *index, 0, {}, "(this part of the log cannot be read)\n"};
        }
        list.push_back(std::move(*chunk));
    }
    return list;
}

// Events of a pack that cannot be read show as one that says so.
void AddEvents(const pb::KeyValue& kv, Serial after, std::vector<Event>& events) {
    const Serial last = ParseHex(LastPart(kv.key())).value_or(0);
    const auto unreadable = [&](const Error& error) {
        return Event{.serial = last,
                     .type = EventType::kAlert,
                     .at = TimeOf(last),
                     .detail = Text("stored events cannot be read: " + error.detail)};
    };
    const Result<std::vector<std::string>> rows = DecodePack(kv.value());
    if (!rows) return events.push_back(unreadable(rows.error()));
    for (const std::string& row : *rows) {
        Result<Event> event = DecodeEvent(row);
        if (!event)
            events.push_back(unreadable(event.error()));
        else if (event->serial > after)
            events.push_back(std::move(*event));
    }
}

}  // namespace

Result<StoredTask> DecodeTask(const pb::KeyValue& kv) {
    Result<TaskRow> row = DecodeTaskRow(kv.value());
    if (row) return StoredTask{std::move(*row), PayloadOfTask(kv.value())};
    return Fail(ErrorCode::kInvalid, "the stored record of task " +
                                         std::string(LastPart(kv.key())) +
                                         " cannot be read: " + row.error().detail);
}

std::optional<StoredTask> DecodeTaskOrTell(const pb::KeyValue& kv) {
    Result<StoredTask> row = DecodeTask(kv);
    if (row) return std::move(*row);
    Log(LogLevel::kError, "store",
        "a stored task cannot be read and does not fire; put it again under its id to replace it",
        {{"task", LastPart(kv.key())}, {"error", row.error().detail}});
    return std::nullopt;
}

Worker DecodeWorkerOrShow(const pb::KeyValue& kv) {
    Result<Worker> worker = DecodeWorker(kv.value());
    if (worker) return std::move(*worker);
    Worker unreadable;
    unreadable.id = WorkerId(Text(LastPart(kv.key())));
    unreadable.name = unreadable.id.text();
    unreadable.status = WorkerStatus::kOffline;
    unreadable.status_reason = Text("its stored record cannot be read: " + worker.error().detail);
    return unreadable;
}

Async<Result<TaskRow>> RowReader::FindTask(TaskId id) {
    const auto found = co_await snapshot_.Get({keys_.Task(partition_, id.view())});
    if (!found) co_return std::unexpected(found.error());
    if (!found->front()) co_return NoSuchTask(id);
    Result<StoredTask> stored = DecodeTask(*found->front());
    if (!stored) co_return std::unexpected(std::move(stored.error()));
    std::vector<StoredTask> one;
    one.push_back(std::move(*stored));
    Result<std::vector<TaskRow>> row =
        co_await CompleteTasks(snapshot_, keys_, partition_, std::move(one));
    if (!row) co_return std::unexpected(std::move(row.error()));
    if (!row->empty()) co_return std::move(row->front());
    co_return Fail(ErrorCode::kInvalid,
                   "the payload of task " + id.text().str() + " is missing in the store");
}

Async<Result<std::vector<TaskRow>>> RowReader::ListTasks(TaskFilter filter) {
    std::vector<StoredTask> list;
    KeyRange rest = keys_.Tasks(partition_);
    if (!filter.after.empty()) rest.begin = keys_.Task(partition_, filter.after) + '\0';
    // Ends: each turn but the last brings rows, of a state that does not change.
    for (bool more = true; more && list.size() < filter.limit;) {
        const Result<Rows> rows = co_await snapshot_.Range(rest, kTaskPageRows);
        if (!rows) co_return std::unexpected(rows.error());
        for (const pb::KeyValue& kv : rows->kvs) {
            auto task = DecodeTaskOrTell(kv);
            if (!task) continue;
            const std::string_view name = task->row.task->name.view();
            if (name.find(filter.name_contains.view()) == std::string_view::npos) continue;
            list.push_back(std::move(*task));
            if (list.size() == filter.limit) break;
        }
        more = rows->more;
        if (!rows->kvs.empty()) rest.begin = rows->kvs.back().key() + '\0';
    }
    co_return co_await CompleteTasks(snapshot_, keys_, partition_, std::move(list));
}

Async<Result<std::vector<Worker>>> RowReader::ListWorkers() {
    const Result<Rows> rows = co_await snapshot_.Range(keys_.Workers(partition_), kAllRows);
    if (!rows) co_return std::unexpected(rows.error());
    std::vector<Worker> list;
    for (const pb::KeyValue& kv : rows->kvs) list.push_back(DecodeWorkerOrShow(kv));
    co_return list;
}

Async<Result<std::vector<SettingPut>>> RowReader::ListSettings(Text key_prefix) {
    const Result<Rows> rows = co_await snapshot_.Range(
        WithPrefix(keys_.Setting(partition_, key_prefix.view())), kAllRows);
    if (!rows) co_return std::unexpected(rows.error());
    const std::size_t skip = keys_.Setting(partition_, "").size();
    std::vector<SettingPut> list;
    for (const pb::KeyValue& kv : rows->kvs) list.push_back({kv.key().substr(skip), kv.value()});
    co_return list;
}

Async<Result<std::vector<LogChunk>>> RowReader::ReadLog(ExecutionId execution, Serial after,
                                                        std::size_t limit) {
    if (after == UINT64_MAX) co_return std::vector<LogChunk>();
    KeyRange range = keys_.Logs(partition_, execution.view());
    range.begin = keys_.Log(partition_, execution.view(), after + 1);
    const Result<Rows> rows = co_await snapshot_.Range(std::move(range), limit);
    if (!rows) co_return std::unexpected(rows.error());
    co_return ChunksOf(execution, *rows);
}

Async<Result<std::vector<LogBeginning>>> RowReader::ReadLogs(std::vector<ExecutionId> executions) {
    std::vector<KeyRange> ranges;
    for (const ExecutionId& id : executions) ranges.push_back(keys_.Logs(partition_, id.view()));
    const auto rows = co_await snapshot_.Ranges(std::move(ranges), kLogBeginning);
    if (!rows) co_return std::unexpected(rows.error());
    std::vector<LogBeginning> list;
    for (std::size_t i = 0; i < executions.size(); ++i) {
        list.push_back({ChunksOf(executions[i], (*rows)[i]), (*rows)[i].more});
    }
    co_return list;
}

Async<Result<std::vector<Event>>> RowReader::ReadEvents(Serial after, std::size_t limit) {
    std::vector<Event> list;
    if (after == UINT64_MAX) co_return list;
    KeyRange rest = keys_.EventsAfter(partition_, after);
    // Ends: each turn but the last brings packs, of a state that does not change.
    for (bool more = true; more && list.size() < limit;) {
        const Result<Rows> packs = co_await snapshot_.Range(rest, kEventPacks);
        if (!packs) co_return std::unexpected(packs.error());
        for (const pb::KeyValue& kv : packs->kvs) AddEvents(kv, after, list);
        more = packs->more;
        if (!packs->kvs.empty()) rest.begin = packs->kvs.back().key() + '\0';
    }
    std::ranges::sort(list, {}, &Event::serial);
    if (list.size() > limit) list.resize(limit);
    co_return list;
}

Async<Result<std::vector<AuditRow>>> RowReader::ReadAudit(Serial before, std::size_t limit) {
    const KeyRange range = keys_.AuditRange(partition_, 0, before);
    const Result<Rows> rows = co_await snapshot_.Range(range, limit);
    if (!rows) co_return std::unexpected(rows.error());
    std::vector<AuditRow> list;
    for (const pb::KeyValue& kv : rows->kvs) {
        const std::optional<Serial> serial = ParseNewest(LastPart(kv.key()));
        if (!serial) continue;  // Not a key of ours.
        Result<AuditRow> row = DecodeAudit(*serial, kv.value());
        if (row) {
            list.push_back(std::move(*row));
        } else {
            Log(LogLevel::kError, "store", "a stored row of the audit cannot be read",
                {{"key", kv.key()}, {"error", row.error().detail}});
        }
    }
    co_return list;
}

}  // namespace takt::internal::etcd
