// RowReader: tasks, workers, settings, logs, events and the audit of a partition, as of one moment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/etcd/snapshot.h"
#include "store/etcd/task_payload.h"
#include "store/many_logs.h"

namespace takt::internal::etcd {

// Good for one read.
class RowReader {
  public:
    RowReader(Client& client, const Keys& keys, Partition partition)
        : keys_(keys), partition_(partition), snapshot_(client) {}

    Async<Result<TaskRow>> FindTask(TaskId id);
    Async<Result<std::vector<TaskRow>>> ListTasks(TaskFilter filter);
    Async<Result<std::vector<Worker>>> ListWorkers();
    Async<Result<std::vector<SettingPut>>> ListSettings(Text key_prefix);
    Async<Result<std::vector<LogChunk>>> ReadLog(ExecutionId execution, Serial after,
                                                 std::size_t limit);
    Async<Result<std::vector<LogBeginning>>> ReadLogs(std::vector<ExecutionId> executions);
    Async<Result<std::vector<Event>>> ReadEvents(Serial after, std::size_t limit);
    Async<Result<std::vector<AuditRow>>> ReadAudit(Serial before, std::size_t limit);

  private:
    const Keys& keys_;
    const Partition partition_;
    Snapshot snapshot_;
};

// A task that cannot be read is an error: leaving it out would silently stop its fires for good.
Result<StoredTask> DecodeTask(const pb::KeyValue& kv);
// Nothing if it cannot be read: then the log says so, and the row stays as it is.
std::optional<StoredTask> DecodeTaskOrTell(const pb::KeyValue& kv);
// A worker is written anew when it attaches; until then one that cannot be read is one that is not
// there.
Worker DecodeWorkerOrShow(const pb::KeyValue& kv);

}  // namespace takt::internal::etcd
