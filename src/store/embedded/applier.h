// Applier: one batch as SQL statements, inside a transaction that the writer holds.
#pragma once

#include "store/embedded/partition_statements.h"
#include "store/embedded/row_inserts.h"
#include "store/embedded/sqlite.h"
#include "store/store.h"

namespace takt::internal::embedded {

class Applier {
  public:
    explicit Applier(Connection& connection);

    // kFenced, kUnavailable (an earlier batch is missing) and success for a repetition leave the
    // database as it was. kInvalid means that a change contradicts the rows: part of the batch is
    // applied, and the caller must roll it back. The first batch of a partition makes its tables.
    // Throws SqliteError.
    Result<void> Apply(const Batch& batch);

    // Whether the last exception came out of a purge: then the batch can do without it.
    bool failed_in_purge() const { return in_purge_; }
    // Purges delete nothing until then.
    void SuspendPurges(Steady until) { purge_after_ = until; }

    // Deletes some rows of a partition, and its tables when they have none left. Whether all is
    // gone. Throws SqliteError.
    Result<bool> DropSome(Partition partition, std::uint64_t epoch);

  private:
    // Executions of one kind: roots, or children of runs.
    struct Executions {
        Executions(Connection& connection, const std::string& prefix);

        // New rows are written by Flush at the latest; `change` must stay until then.
        Result<void> Apply(const Connection& connection, const ExecutionChange& change);
        void Begin();
        void Flush();

        RowInserts insert_live, insert_history;
        Statement update_live, delete_live, delete_history;
    };

    // The statements that write one partition's changes.
    struct Tables {
        Tables(Connection& connection, Partition partition);

        Result<void> Apply(const ExecutionChange& change);
        Result<void> Apply(const TaskPut& change);
        Result<void> Apply(const TaskDelete& change);
        Result<void> Apply(const WorkerPut& change);
        Result<void> Apply(const WorkerDelete& change);
        Result<void> Apply(const SettingPut& change);
        Result<void> Apply(const RecordPut& change);
        Result<void> Apply(const EventAppend& change);
        Result<void> Apply(const AuditAppend& change);
        Result<void> Apply(const LogAppend& change);
        Result<void> Apply(const Purge& change);
        void PurgeExecutions(const Purge& change);
        // A finished execution.
        struct Old {
            std::int64_t serial;
            internal::Text id;
        };
        void PurgeChildren(const Old& run, std::int64_t& left);
        void PurgeOne(const Old& old, Executions& from);
        static std::vector<Old> ReadOld(Statement& statement);

        const Connection& connection;
        const Partition partition;
        Executions roots, children;
        Statement put_task, delete_task, put_worker, delete_worker, put_setting, delete_setting;
        Statement put_record, delete_record, append_event, append_audit, append_log;
        Statement old_executions, any_children, children_of, delete_log, delete_events,
            delete_audit;
    };

    // Whether the batch is to be applied; else what to answer.
    Result<bool> PassFence(const Batch& batch);
    Result<void> ApplyChanges(Tables& tables, const Batch& batch);

    Connection& connection_;
    bool in_purge_ = false;
    Steady purge_after_ = Steady::min();
    Statement fence_, term_;
    PartitionStatements<Tables> partitions_;
};

}  // namespace takt::internal::embedded
