// Reader: the reading operations of the MySQL store on one connection of one thread. Each call sees
// one state of the database, whatever is committed meanwhile, in one round trip.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "store/mysql/session.h"
#include "store/sql/dialect.h"
#include "store/sql/execution_query.h"
#include "store/store.h"

namespace takt::internal::mysql {

// The query with its parameters as literals. Question marks stand for parameters only: all other
// text of such a query is our own.
std::string Render(const sql::Query& query);

class Reader {
  public:
    explicit Reader(const MysqlOptions& options);

    // All throw MysqlError.
    Result<LoadPage> Load(Partition partition, const std::string& cursor);
    Result<std::vector<std::optional<Execution>>> FindExecutions(
        const std::vector<ExecutionId>& ids);
    Result<std::vector<Execution>> ListExecutions(const ExecutionFilter& filter);
    Result<TaskRow> FindTask(const TaskId& id);
    Result<std::vector<TaskRow>> ListTasks(const TaskFilter& filter);
    Result<std::vector<Worker>> ListWorkers();
    Result<std::vector<SettingPut>> ListSettings(const Text& key_prefix);
    Result<std::vector<LogChunk>> ReadLog(const ExecutionId& execution, Serial after,
                                          std::size_t limit);
    Result<std::vector<Event>> ReadEvents(Serial after, std::size_t limit);

  private:
    // What the queries return, in their order, all of one state.
    std::vector<Rows> Query(std::span<const std::string> queries);
    Rows QueryOne(const std::string& query);
    Result<LoadPage> LoadTasks(Partition partition, std::string_view after);
    Result<LoadPage> LoadExecutions(Partition partition, Serial after);
    std::string LastSerial(Partition partition) const;

    const MysqlOptions& options_;
    const sql::Dialect dialect_;
    Session session_;
};

}  // namespace takt::internal::mysql
