#include "store/etcd/reader.h"

#include <utility>

#include "store/etcd/reader_executions.h"
#include "store/etcd/reader_load.h"
#include "store/etcd/reader_rows.h"
#include "store/refusals.h"

namespace takt::internal::etcd {
namespace {

// Compaction keeps ten thousand revisions as a rule, so that even the second time is rare.
constexpr int kReadsMax = 3;

}  // namespace

template <typename T>
Async<Result<T>> Reader::Repeat(Read<T> read) {
    for (int i = 1;; ++i) {
        Result<T> result = co_await read();
        if (result || result.error().code != ErrorCode::kConflict) co_return result;
        if (i == kReadsMax) {
            co_return Fail(ErrorCode::kUnavailable, std::move(result.error().detail));
        }
    }
}

template <typename T>
Async<Result<T>> Reader::ReadRows(std::function<Async<Result<T>>(RowReader&)> read) {
    return Repeat<T>([this, read = std::move(read)]() -> Async<Result<T>> {
        RowReader reader(client_, keys_);
        co_return co_await read(reader);
    });
}

Async<Result<LoadPage>> Reader::Load(Partition partition, std::string cursor) {
    return Repeat<LoadPage>([this, partition, cursor]() -> Async<Result<LoadPage>> {
        Loader loader(client_, keys_, partition, load_page_rows_);
        co_return co_await loader.Load(cursor);
    });
}

Async<Result<std::vector<std::optional<Execution>>>> Reader::FindExecutions(
    Partition, std::vector<ExecutionId> ids) {
    using Rows = std::vector<std::optional<Execution>>;
    return Repeat<Rows>([this, ids = std::move(ids)]() -> Async<Result<Rows>> {
        ExecutionReader reader(client_, keys_);
        co_return co_await reader.Find(ids);
    });
}

Async<Result<std::vector<Execution>>> Reader::ListExecutions(ExecutionFilter filter) {
    using Rows = std::vector<Execution>;
    return Repeat<Rows>([this, filter = std::move(filter)]() -> Async<Result<Rows>> {
        ExecutionReader reader(client_, keys_);
        co_return co_await reader.List(filter);
    });
}

Async<Result<TaskRow>> Reader::FindTask(Partition, TaskId id) {
    return ReadRows<TaskRow>([id](RowReader& reader) { return reader.FindTask(id); });
}

Async<Result<std::vector<TaskRow>>> Reader::ListTasks(TaskFilter filter) {
    return ReadRows<std::vector<TaskRow>>(
        [filter](RowReader& reader) { return reader.ListTasks(filter); });
}

Async<Result<std::vector<Worker>>> Reader::ListWorkers(Partition) {
    return ReadRows<std::vector<Worker>>([](RowReader& reader) { return reader.ListWorkers(); });
}

Async<Result<std::vector<SettingPut>>> Reader::ListSettings(Partition, Text key_prefix) {
    return ReadRows<std::vector<SettingPut>>(
        [key_prefix](RowReader& reader) { return reader.ListSettings(key_prefix); });
}

Async<Result<std::vector<LogChunk>>> Reader::ReadLog(Partition, ExecutionId execution, Serial after,
                                                     std::size_t limit) {
    return ReadRows<std::vector<LogChunk>>([execution, after, limit](RowReader& reader) {
        return reader.ReadLog(execution, after, limit);
    });
}

Async<Result<std::vector<Event>>> Reader::ReadEvents(Partition, Serial after, std::size_t limit) {
    return ReadRows<std::vector<Event>>(
        [after, limit](RowReader& reader) { return reader.ReadEvents(after, limit); });
}

Async<Result<std::vector<AuditRow>>> Reader::ReadAudit(Partition, Serial, std::size_t) {
    co_return HasNoSuchRows();
}

}  // namespace takt::internal::etcd
