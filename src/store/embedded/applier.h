// Applier: one batch as SQL statements, inside a transaction that the writer holds.
#pragma once

#include "store/embedded/sqlite.h"
#include "store/store.h"

namespace takt::internal::embedded {

class Applier {
  public:
    explicit Applier(Connection& connection);

    // kFenced, kUnavailable (an earlier batch is missing) and success for a repetition leave the
    // database as it was. kInvalid means that a change contradicts the rows: part of the batch is
    // applied, and the caller must roll it back. Throws SqliteError.
    Result<void> Apply(const Batch& batch);

    // Whether the last exception came out of a purge: then the batch can do without it.
    bool failed_in_purge() const { return in_purge_; }
    // Purges delete nothing until then.
    void SuspendPurges(Steady until) { purge_after_ = until; }

  private:
    // Whether the batch is to be applied; else what to answer.
    Result<bool> PassFence(const Batch& batch);
    Result<void> Apply(Partition partition, const ExecutionChange& change);
    Result<void> Apply(Partition partition, const TaskPut& change);
    Result<void> Apply(Partition partition, const TaskDelete& change);
    Result<void> Apply(Partition partition, const WorkerPut& change);
    Result<void> Apply(Partition partition, const WorkerDelete& change);
    Result<void> Apply(Partition partition, const SettingPut& change);
    Result<void> Apply(Partition partition, const EventAppend& change);
    Result<void> Apply(Partition partition, const LogAppend& change);
    Result<void> Apply(Partition partition, const Purge& change);
    Result<void> Apply(Partition partition, const RecordPut& change);
    Result<void> Apply(Partition partition, const AuditAppend& change);

    Connection& connection_;
    bool in_purge_ = false;
    Steady purge_after_ = Steady::min();
    Statement fence_, term_;
    Statement insert_live_, insert_history_, update_live_, delete_live_, delete_history_;
    Statement put_task_, delete_task_, put_worker_, delete_worker_, put_setting_, delete_setting_;
    Statement append_event_, append_log_;
    Statement old_executions_, delete_log_, delete_events_;
};

}  // namespace takt::internal::embedded
