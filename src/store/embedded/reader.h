// Reader: what is stored, by one thread of its own.
#pragma once

#include <string>
#include <vector>

#include "store/embedded/partition_statements.h"
#include "store/embedded/sqlite.h"
#include "store/store.h"

namespace takt::internal::embedded {

class Reader {
  public:
    // `load_page_rows`: rows in one page of Load.
    Reader(Connection connection, std::size_t load_page_rows);
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    // A read that begins from now on ends with SQLITE_INTERRUPT soon after this moment.
    void SetDeadline(Steady deadline) { deadline_ = deadline; }

    // All throw SqliteError.
    Result<LoadPage> Load(Partition partition, const std::string& cursor);
    Result<std::vector<std::optional<Execution>>> FindExecutions(
        Partition partition, const std::vector<ExecutionId>& ids);
    Result<std::vector<Execution>> ListExecutions(const ExecutionFilter& filter);
    Result<TaskRow> FindTask(Partition partition, const TaskId& id);
    Result<std::vector<TaskRow>> ListTasks(const TaskFilter& filter);
    Result<std::vector<Worker>> ListWorkers(Partition partition);
    Result<std::vector<SettingPut>> ListSettings(Partition partition, const Text& key_prefix);
    Result<std::vector<LogChunk>> ReadLog(Partition partition, const ExecutionId& execution,
                                          Serial after, std::size_t limit);
    Result<std::vector<Event>> ReadEvents(Partition partition, Serial after, std::size_t limit);
    Result<std::vector<AuditRow>> ReadAudit(Partition partition, Serial before, std::size_t limit);

  private:
    class Snapshot;

    // The statements that read one partition.
    struct Tables {
        Tables(Connection& connection, Partition partition);

        const Partition partition;
        Statement load_live, load_children, load_tasks, load_records;
        Statement list_workers, all_settings, list_settings;
        Statement find_live, find_history, find_child_live, find_child_history;
        Statement find_task, list_tasks, read_log, read_events, read_audit;
    };

    // The answer of `work` from the partition's tables; `nothing` if it has none yet.
    template <typename T, typename Work>
    Result<T> From(Partition partition, T nothing, Work work);

    void LoadBeginning(Tables& tables, LoadPage& page);
    void LoadTasks(Tables& tables, std::string_view after, LoadPage& page);
    void LoadRecords(Tables& tables, std::uint8_t kind, std::string_view after, LoadPage& page);
    void LoadExecutions(Tables& tables, Serial after, LoadPage& page);

    Connection connection_;
    const std::size_t load_page_rows_;
    Steady deadline_ = Steady::max();
    Statement last_serial_;
    PartitionStatements<Tables> partitions_;
};

}  // namespace takt::internal::embedded
