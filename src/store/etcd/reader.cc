#include "store/etcd/reader.h"

#include <utility>

#include "store/etcd/reader_executions.h"
#include "store/etcd/reader_load.h"
#include "store/etcd/reader_rows.h"

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
        if (i == kReadsMax || client_.pinned_revision() != 0) {
            co_return Fail(ErrorCode::kUnavailable, std::move(result.error().detail));
        }
    }
}

template <typename T>
Async<Result<T>> Reader::ReadRows(Partition partition,
                                  std::function<Async<Result<T>>(RowReader&)> read) {
    return Repeat<T>([this, partition, read = std::move(read)]() -> Async<Result<T>> {
        RowReader reader(client_, keys_, partition);
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
    Partition partition, std::vector<ExecutionId> ids) {
    using Rows = std::vector<std::optional<Execution>>;
    return Repeat<Rows>([this, partition, ids = std::move(ids)]() -> Async<Result<Rows>> {
        ExecutionReader reader(client_, keys_, partition);
        co_return co_await reader.Find(ids);
    });
}

Async<Result<std::vector<Execution>>> Reader::ListExecutions(ExecutionFilter filter) {
    using Rows = std::vector<Execution>;
    return Repeat<Rows>([this, filter = std::move(filter)]() -> Async<Result<Rows>> {
        ExecutionReader reader(client_, keys_, filter.partition);
        co_return co_await reader.List(filter);
    });
}

Async<Result<TaskRow>> Reader::FindTask(Partition partition, TaskId id) {
    return ReadRows<TaskRow>(partition, [id](RowReader& reader) { return reader.FindTask(id); });
}

Async<Result<std::vector<TaskRow>>> Reader::ListTasks(TaskFilter filter) {
    return ReadRows<std::vector<TaskRow>>(
        filter.partition, [filter](RowReader& reader) { return reader.ListTasks(filter); });
}

Async<Result<std::vector<Worker>>> Reader::ListWorkers(Partition partition) {
    return ReadRows<std::vector<Worker>>(partition,
                                         [](RowReader& reader) { return reader.ListWorkers(); });
}

Async<Result<std::vector<SettingPut>>> Reader::ListSettings(Partition partition, Text key_prefix) {
    return ReadRows<std::vector<SettingPut>>(
        partition, [key_prefix](RowReader& reader) { return reader.ListSettings(key_prefix); });
}

Async<Result<std::vector<LogChunk>>> Reader::ReadLog(Partition partition, ExecutionId execution,
                                                     Serial after, std::size_t limit) {
    return ReadRows<std::vector<LogChunk>>(partition, [execution, after, limit](RowReader& reader) {
        return reader.ReadLog(execution, after, limit);
    });
}

Async<Result<std::vector<LogBeginning>>> Reader::ReadLogs(Partition partition,
                                                          std::vector<ExecutionId> executions) {
    return ReadRows<std::vector<LogBeginning>>(
        partition, [executions](RowReader& reader) { return reader.ReadLogs(executions); });
}

Async<Result<std::vector<Event>>> Reader::ReadEvents(Partition partition, Serial after,
                                                     std::size_t limit) {
    return ReadRows<std::vector<Event>>(
        partition, [after, limit](RowReader& reader) { return reader.ReadEvents(after, limit); });
}

Async<Result<std::vector<AuditRow>>> Reader::ReadAudit(Partition partition, Serial before,
                                                       std::size_t limit) {
    return ReadRows<std::vector<AuditRow>>(
        partition, [before, limit](RowReader& reader) { return reader.ReadAudit(before, limit); });
}

}  // namespace takt::internal::etcd
