#include "store/etcd/reader_rows.h"

#include <algorithm>
#include <map>

#include "base/log.h"
#include "model/record.h"
#include "store/etcd/pack.h"

namespace takt::internal::etcd {
namespace {

constexpr std::size_t kTaskPageRows = 500;
constexpr std::size_t kEventPacks = 16;

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
    const auto partitions = co_await snapshot_.Partitions(keys_);
    if (!partitions) co_return std::unexpected(partitions.error());
    std::vector<std::string> keys;
    for (const Partition p : *partitions) keys.push_back(keys_.Task(p, id.view()));
    const auto found = co_await snapshot_.Get(std::move(keys));
    if (!found) co_return std::unexpected(found.error());
    for (std::size_t i = 0; i < found->size(); ++i) {
        const auto& kv = (*found)[i];
        if (!kv) continue;
        Result<StoredTask> stored = DecodeTask(*kv);
        if (!stored) co_return std::unexpected(std::move(stored.error()));
        std::vector<StoredTask> one;
        one.push_back(std::move(*stored));
        Result<std::vector<TaskRow>> row =
            co_await CompleteTasks(snapshot_, keys_, (*partitions)[i], std::move(one));
        if (!row) co_return std::unexpected(std::move(row.error()));
        if (!row->empty()) co_return std::move(row->front());
        co_return Fail(ErrorCode::kInvalid,
                       "the payload of task " + id.text().str() + " is missing in the store");
    }
    co_return NoSuchTask(id);
}

Async<Result<std::vector<TaskRow>>> RowReader::TasksOf(Partition p, TaskFilter filter) {
    std::vector<StoredTask> list;
    KeyRange rest = keys_.Tasks(p);
    if (!filter.after.empty()) rest.begin = keys_.Task(p, filter.after) + '\0';
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
    co_return co_await CompleteTasks(snapshot_, keys_, p, std::move(list));
}

Async<Result<std::vector<TaskRow>>> RowReader::ListTasks(TaskFilter filter) {
    const auto partitions = co_await snapshot_.Partitions(keys_);
    if (!partitions) co_return std::unexpected(partitions.error());
    std::map<TaskId, TaskRow> found;
    for (const Partition p : *partitions) {
        Result<std::vector<TaskRow>> rows = co_await TasksOf(p, filter);
        if (!rows) co_return std::unexpected(rows.error());
        for (TaskRow& row : *rows) found.emplace(row.task->id, std::move(row));
    }
    std::vector<TaskRow> list;
    for (auto& [id, row] : found) {
        if (list.size() == filter.limit) break;
        list.push_back(std::move(row));
    }
    co_return list;
}

Async<Result<std::vector<Worker>>> RowReader::ListWorkers() {
    const auto partitions = co_await snapshot_.Partitions(keys_);
    if (!partitions) co_return std::unexpected(partitions.error());
    std::map<WorkerId, Worker> found;
    for (const Partition p : *partitions) {
        const Result<Rows> rows = co_await snapshot_.Range(keys_.Workers(p), kAllRows);
        if (!rows) co_return std::unexpected(rows.error());
        for (const pb::KeyValue& kv : rows->kvs) {
            Worker worker = DecodeWorkerOrShow(kv);
            found.emplace(worker.id, std::move(worker));
        }
    }
    std::vector<Worker> list;
    for (auto& [id, worker] : found) list.push_back(std::move(worker));
    co_return list;
}

Async<Result<std::vector<SettingPut>>> RowReader::ListSettings(Text key_prefix) {
    const auto partitions = co_await snapshot_.Partitions(keys_);
    if (!partitions) co_return std::unexpected(partitions.error());
    std::map<Text, Text> found;
    for (const Partition p : *partitions) {
        const Result<Rows> rows =
            co_await snapshot_.Range(WithPrefix(keys_.Setting(p, key_prefix.view())), kAllRows);
        if (!rows) co_return std::unexpected(rows.error());
        const std::size_t skip = keys_.Setting(p, "").size();
        for (const pb::KeyValue& kv : rows->kvs) found.emplace(kv.key().substr(skip), kv.value());
    }
    std::vector<SettingPut> list;
    for (const auto& [key, value] : found) list.push_back({key, value});
    co_return list;
}

Async<Result<std::vector<LogChunk>>> RowReader::ReadLog(ExecutionId execution, Serial after,
                                                        std::size_t limit) {
    std::vector<LogChunk> list;
    if (after == UINT64_MAX) co_return list;
    KeyRange range = keys_.Logs(execution.view());
    range.begin = keys_.Log(execution.view(), after + 1);
    const Result<Rows> rows = co_await snapshot_.Range(std::move(range), limit);
    if (!rows) co_return std::unexpected(rows.error());
    for (const pb::KeyValue& kv : rows->kvs) {
        const std::optional<std::uint64_t> index = ParseHex(LastPart(kv.key()));
        if (!index) continue;  // Not a key of ours.
        Result<LogChunk> chunk = DecodeLogChunk(execution, *index, kv.value());
        if (!chunk) {
            chunk = LogChunk{execution, *index, 0, {}, "(this part of the log cannot be read)\n"};
        }
        list.push_back(std::move(*chunk));
    }
    co_return list;
}

Async<Result<std::vector<Event>>> RowReader::EventsOf(Partition p, Serial after,
                                                      std::size_t limit) {
    std::vector<Event> list;
    KeyRange rest = keys_.EventsAfter(p, after);
    // Ends: each turn but the last brings packs, of a state that does not change.
    for (bool more = true; more && list.size() < limit;) {
        const Result<Rows> packs = co_await snapshot_.Range(rest, kEventPacks);
        if (!packs) co_return std::unexpected(packs.error());
        for (const pb::KeyValue& kv : packs->kvs) AddEvents(kv, after, list);
        more = packs->more;
        if (!packs->kvs.empty()) rest.begin = packs->kvs.back().key() + '\0';
    }
    co_return list;
}

Async<Result<std::vector<Event>>> RowReader::ReadEvents(Serial after, std::size_t limit) {
    std::vector<Event> list;
    if (after == UINT64_MAX) co_return list;
    const auto partitions = co_await snapshot_.Partitions(keys_);
    if (!partitions) co_return std::unexpected(partitions.error());
    for (const Partition p : *partitions) {
        Result<std::vector<Event>> events = co_await EventsOf(p, after, limit);
        if (!events) co_return std::unexpected(events.error());
        std::ranges::move(*events, std::back_inserter(list));
    }
    std::ranges::sort(list, {}, &Event::serial);
    if (list.size() > limit) list.resize(limit);
    co_return list;
}

}  // namespace takt::internal::etcd
