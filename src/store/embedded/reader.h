// Reader: the reading operations of the embedded store on one connection of one thread. Each call
// sees one state of the database, whatever is committed meanwhile.
#pragma once

#include <functional>
#include <string>
#include <vector>

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

    void LoadTasks(Partition partition, const std::string& after, LoadPage& page);
    void LoadExecutions(Partition partition, Serial after, LoadPage& page);

    Connection connection_;
    const std::size_t load_page_rows_;
    Steady deadline_ = Steady::max();
    Statement last_serial_, load_executions_, load_tasks_, load_workers_, load_settings_;
    Statement find_live_, find_history_, find_task_, list_tasks_, list_workers_, list_settings_;
    Statement read_log_, read_events_;
};

}  // namespace takt::internal::embedded
