// Reader: what is stored, for any node. Each read sees one moment; one whose moment was compacted
// away under it begins anew.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "store/etcd/async.h"
#include "store/etcd/client.h"
#include "store/etcd/keys.h"
#include "store/many_logs.h"

namespace takt::internal::etcd {

class RowReader;

class Reader {
  public:
    Reader(Client& client, const Keys& keys, std::size_t load_page_rows)
        : client_(client), keys_(keys), load_page_rows_(load_page_rows) {}

    // As the store's own of the same names.
    Async<Result<LoadPage>> Load(Partition partition, std::string cursor);
    Async<Result<std::vector<std::optional<Execution>>>> FindExecutions(
        Partition partition, std::vector<ExecutionId> ids);
    Async<Result<std::vector<Execution>>> ListExecutions(ExecutionFilter filter);
    Async<Result<TaskRow>> FindTask(Partition partition, TaskId id);
    Async<Result<std::vector<TaskRow>>> ListTasks(TaskFilter filter);
    Async<Result<std::vector<Worker>>> ListWorkers(Partition partition);
    Async<Result<std::vector<SettingPut>>> ListSettings(Partition partition, Text key_prefix);
    Async<Result<std::vector<LogChunk>>> ReadLog(Partition partition, ExecutionId execution,
                                                 Serial after, std::size_t limit);
    Async<Result<std::vector<LogBeginning>>> ReadLogs(Partition partition,
                                                      std::vector<ExecutionId> executions);
    Async<Result<std::vector<Event>>> ReadEvents(Partition partition, Serial after,
                                                 std::size_t limit);
    Async<Result<std::vector<AuditRow>>> ReadAudit(Partition partition, Serial before,
                                                   std::size_t limit);

  private:
    template <typename T>
    using Read = std::function<Async<Result<T>>()>;
    template <typename T>
    Async<Result<T>> Repeat(Read<T> read);
    template <typename T>
    Async<Result<T>> ReadRows(Partition partition,
                              std::function<Async<Result<T>>(RowReader&)> read);

    Client& client_;
    const Keys& keys_;
    const std::size_t load_page_rows_;
};

}  // namespace takt::internal::etcd
