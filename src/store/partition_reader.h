// PartitionReader: a store as those see it who belong to one namespace. Every read is of its
// partition, so none of them has to know the number.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "store/store.h"

namespace takt::internal {

class PartitionReader {
  public:
    // The store outlives the reader, and its copies.
    PartitionReader(Store& store, Partition partition) : store_(&store), partition_(partition) {}

    Partition partition() const { return partition_; }
    // For what is of the whole cluster: who leads, which schedulers there are.
    Store& store() const { return *store_; }

    // As the store's own of the same names.
    void FindExecutions(std::vector<ExecutionId> ids,
                        Done<std::vector<std::optional<Execution>>> done) const {
        store_->FindExecutions(partition_, std::move(ids), std::move(done));
    }
    void ListExecutions(ExecutionFilter filter, Done<std::vector<Execution>> done) const {
        filter.partition = partition_;
        store_->ListExecutions(filter, std::move(done));
    }
    void FindTask(const TaskId& id, Done<TaskRow> done) const {
        store_->FindTask(partition_, id, std::move(done));
    }
    void ListTasks(TaskFilter filter, Done<std::vector<TaskRow>> done) const {
        filter.partition = partition_;
        store_->ListTasks(filter, std::move(done));
    }
    void ListSettings(const Text& key_prefix, Done<std::vector<SettingPut>> done) const {
        store_->ListSettings(partition_, key_prefix, std::move(done));
    }
    void ReadLog(const ExecutionId& execution, Serial after, std::size_t limit,
                 Done<std::vector<LogChunk>> done) const {
        store_->ReadLog(partition_, execution, after, limit, std::move(done));
    }
    void ReadAudit(Serial before, std::size_t limit, Done<std::vector<AuditRow>> done) const {
        store_->ReadAudit(partition_, before, limit, std::move(done));
    }

  private:
    Store* store_;
    Partition partition_;
};

}  // namespace takt::internal
