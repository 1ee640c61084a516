// Reader: the reading operations of the MySQL store on one connection of one thread. Each call sees
// one state of the database, whatever is committed meanwhile, in one round trip.
#pragma once

#include <mysqld_error.h>

#include <span>
#include <string>
#include <vector>

#include "store/list_page.h"
#include "store/mysql/schema.h"
#include "store/mysql/session.h"
#include "store/sql/dialect.h"
#include "store/sql/execution_query.h"
#include "store/store.h"

namespace takt::internal::mysql {

// Of rows that are asked for at once.
constexpr std::size_t kPageBytes = 4 << 20;

// How many rows the next query of a Load page asks for, so that a page is some megabytes however
// large its rows are. Answers are in memory as a whole, and their time is limited.
class PageSize {
  public:
    explicit PageSize(std::size_t rows_max) : rows_max_(rows_max) {}

    std::size_t next() const;
    bool full() const;
    void Add(std::size_t row_bytes) { ++rows_, bytes_ += row_bytes; }

  private:
    const std::size_t rows_max_;
    std::size_t rows_ = 0;
    std::size_t bytes_ = 0;
};

// The query with its parameters as literals. Question marks stand for parameters only: all other
// text of such a query is our own.
std::string Render(const sql::Query& query);

class Reader {
  public:
    explicit Reader(const MysqlOptions& options);

    // All throw MysqlError.
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
    Result<std::vector<NodeRow>> Nodes();

  private:
    // Calls `work` with the connection, once more if that was lost meanwhile. Not if it was lost
    // because the answer took too long: the server may still be at it, and would have it twice.
    template <typename Work>
    auto Read(Work work);
    // The rows of each query, in the order of the queries, all of one state.
    std::vector<Rows> Query(std::span<const std::string> queries);
    Rows QueryOne(const std::string& query);
    // The answer of `work` from the partition's tables, given their prefix; `nothing` if it has none
    // yet. A table that was made anew since a transaction began (ALTER, OPTIMIZE) cannot be read by it:
    // another one may, but not one that is to be of the moment of a snapshot.
    template <typename T, typename Work>
    Result<T> From(Partition partition, T nothing, Work work);
    // Whether the partition may have had the table at the moment of the snapshot that it does not see:
    // then it had been led; or, if that is `gone` now, somebody led it and had committed.
    bool WasThere(Partition partition, bool gone);
    static void AddBeginning(Rows& settings, Rows& workers, LoadPage& page);
    std::vector<std::string> ListQueries(const ExecutionFilter& filter,
                                         std::string_view columns) const;
    std::vector<Execution> ListBrief(const ExecutionFilter& filter);
    std::vector<Execution> ListWhole(const ExecutionFilter& filter);
    void ReadGroup(Connection& connection, const ExecutionFilter& filter,
                   const std::vector<Serial>& group, ListPage& page);
    LoadPage LoadTasks(Partition partition, std::string_view after);
    LoadPage LoadRecords(Partition partition, std::uint8_t kind, std::string_view after);
    LoadPage LoadExecutions(Partition partition, Serial after);
    std::string LastSerial(Partition partition) const;

    const MysqlOptions& options_;
    Session session_;
};

template <typename T, typename Work>
Result<T> Reader::From(Partition partition, T nothing, Work work) {
    for (bool again = false;; again = true) {
        try {
            return work(TablePrefix(options_.prefix, partition));
        } catch (const MysqlError& error) {
            const bool gone = error.code() == ER_NO_SUCH_TABLE;
            const bool own = partition != kDefaultPartition;
            if (!own || (!gone && error.code() != ER_TABLE_DEF_CHANGED)) throw;
            if (options_.pinned) {
                if (!WasThere(partition, gone)) return nothing;
                throw MysqlError(ER_TABLE_DEF_CHANGED, error.what());
            }
            if (gone) return nothing;
            if (again) throw;
        }
    }
}

}  // namespace takt::internal::mysql
