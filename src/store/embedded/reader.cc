#include "store/embedded/reader.h"

#include <algorithm>

#include "store/list_page.h"
#include "store/refusals.h"
#include "store/sql/execution_query.h"
#include "store/sql/execution_row.h"
#include "store/sql/record_row.h"

namespace takt::internal::embedded {
namespace {

// Instructions of SQLite's virtual machine between two looks at the clock: less than a millisecond.
constexpr int kInstructionsPerLook = 10'000;

// Of payloads and results in one page of Load.
constexpr std::size_t kLoadBytes = 8u << 20;

std::string SelectExecutions(std::string_view rest) {
    return "SELECT " + std::string(sql::kExecutionColumns) + " FROM " + std::string(rest);
}

}  // namespace

// A read transaction: all statements inside see the same state.
class Reader::Snapshot {
  public:
    explicit Snapshot(Connection& connection) : connection_(connection) {
        connection_.Run("BEGIN");
    }
    ~Snapshot() { sqlite3_exec(connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr); }
    Snapshot(const Snapshot&) = delete;
    Snapshot& operator=(const Snapshot&) = delete;

  private:
    Connection& connection_;
};

Reader::Reader(Connection connection, std::size_t load_page_rows)
    : connection_(std::move(connection)),
      load_page_rows_(load_page_rows),
      last_serial_(connection_.Prepare("SELECT last_serial FROM terms WHERE partition = ?")),
      load_executions_(connection_.Prepare(SelectExecutions(
          "live WHERE serial > ? AND (serial >> 14) & 255 = ? ORDER BY serial LIMIT ?"))),
      load_tasks_(connection_.Prepare(
          "SELECT id, record FROM tasks WHERE id > ? AND partition = ? ORDER BY id LIMIT ?")),
      load_workers_(
          connection_.Prepare("SELECT id, record FROM workers WHERE partition = ? ORDER BY id")),
      load_settings_(
          connection_.Prepare("SELECT key, value FROM settings WHERE partition = ? ORDER BY key")),
      find_live_(connection_.Prepare(SelectExecutions("live WHERE id = ?"))),
      find_history_(connection_.Prepare(SelectExecutions("history WHERE id = ?"))),
      find_task_(connection_.Prepare("SELECT id, record FROM tasks WHERE id = ?")),
      list_tasks_(connection_.Prepare("SELECT id, record FROM tasks WHERE id > ? AND " +
                                      sql::kSqlite.contains("name") + " ORDER BY id LIMIT ?")),
      list_workers_(connection_.Prepare("SELECT id, record FROM workers ORDER BY id, partition")),
      list_settings_(connection_.Prepare(
          "SELECT key, value FROM settings WHERE partition IN (SELECT partition FROM terms) "
          "AND key >= ? AND key < ? ORDER BY key, partition")),
      read_log_(connection_.Prepare("SELECT chunk, attempt, at_ms, lines FROM logs "
                                    "WHERE execution = ? AND chunk > ? ORDER BY chunk LIMIT ?")),
      read_events_(connection_.Prepare(
          "SELECT serial, record FROM events WHERE serial > ? ORDER BY serial LIMIT ?")) {
    sqlite3_progress_handler(
        connection_.get(), kInstructionsPerLook,
        [](void* reader) {
            return SteadyClock::now() > static_cast<Reader*>(reader)->deadline_ ? 1 : 0;
        },
        this);
}

Result<LoadPage> Reader::Load(Partition partition, const std::string& cursor) {
    const Snapshot snapshot(connection_);
    LoadPage page;
    last_serial_.Int(partition);
    if (const Rows rows(last_serial_); last_serial_.Step()) {
        page.last_serial = static_cast<Serial>(last_serial_.row().Int(0));
    }
    const Result<sql::LoadCursor> at = sql::ParseLoadCursor(cursor);
    if (!at) return std::unexpected(at.error());
    if (!at->executions) {
        LoadTasks(partition, std::string(at->task), page);
        if (!page.next.empty()) return page;
    }
    LoadExecutions(partition, at->serial, page);
    return page;
}

void Reader::LoadTasks(Partition partition, const std::string& after, LoadPage& page) {
    if (after.empty()) {
        load_settings_.Int(partition);
        const Rows settings(load_settings_);
        while (load_settings_.Step()) {
            const Row row = load_settings_.row();
            page.settings.push_back({Text(row.Bytes(0)), Text(row.Bytes(1))});
        }
        load_workers_.Int(partition);
        const Rows workers(load_workers_);
        while (load_workers_.Step()) {
            const Row row = load_workers_.row();
            page.workers.push_back(sql::ReadWorker(row.Bytes(0), row.Bytes(1)));
        }
    }
    load_tasks_.Text(after);
    load_tasks_.Int(partition);
    load_tasks_.Int(static_cast<std::int64_t>(load_page_rows_) + 1);
    const Rows rows(load_tasks_);
    std::string last;
    std::size_t bytes = 0;
    for (std::size_t count = 0; load_tasks_.Step(); ++count) {
        const Row row = load_tasks_.row();
        if (count == load_page_rows_ || bytes >= kLoadBytes) {
            page.next = "t" + last;
            break;
        }
        last = row.Bytes(0);
        bytes += row.Bytes(1).size();
        auto task = sql::ReadTaskOrTell(last, row.Bytes(1));
        if (task) page.tasks.push_back(std::move(*task));
    }
}

void Reader::LoadExecutions(Partition partition, Serial after, LoadPage& page) {
    load_executions_.Int(static_cast<std::int64_t>(after));
    load_executions_.Int(partition);
    load_executions_.Int(static_cast<std::int64_t>(load_page_rows_) + 1);
    const Rows rows(load_executions_);
    sql::ExecutionReader reader;
    std::size_t bytes = 0;
    while (load_executions_.Step()) {
        if (page.executions.size() == load_page_rows_ || bytes >= kLoadBytes) {
            page.next = "e" + std::to_string(page.executions.back().serial);
            return;
        }
        page.executions.push_back(reader.Read(load_executions_.row()));
        bytes += ListBytes(page.executions.back());
    }
}

Result<std::vector<std::optional<Execution>>> Reader::FindExecutions(
    Partition, const std::vector<ExecutionId>& ids) {
    const Snapshot snapshot(connection_);
    sql::ExecutionReader reader;
    std::vector<std::optional<Execution>> found;
    found.reserve(ids.size());
    for (const ExecutionId& id : ids) {
        std::optional<Execution>& row = found.emplace_back();
        for (Statement* statement : {&find_live_, &find_history_}) {
            statement->Text(id.view());
            const Rows rows(*statement);
            if (!statement->Step()) continue;
            row = reader.Read(statement->row());
            break;
        }
    }
    return found;
}

Result<std::vector<Execution>> Reader::ListExecutions(const ExecutionFilter& filter) {
    const Snapshot snapshot(connection_);
    std::vector<Statement> queries;  // Each at its newest row that is not on the page yet.
    for (const sql::Query& query :
         sql::ListQueries(sql::kSqlite, filter, sql::ListColumns(filter))) {
        Statement statement = connection_.Prepare(query.sql);
        for (const sql::Parameter& parameter : query.parameters) {
            if (const auto* number = std::get_if<std::int64_t>(&parameter)) {
                statement.Int(*number);
            } else {
                statement.Text(std::get<Text>(parameter));
            }
        }
        if (statement.Step()) queries.push_back(std::move(statement));
    }
    sql::ExecutionReader reader(filter.brief);
    ListPage page(filter);
    while (!page.full() && !queries.empty()) {
        const auto newest = std::ranges::max_element(
            queries, {}, [](const Statement& query) { return query.row().Int(0); });
        page.Add(reader.Read(newest->row()));
        if (!newest->Step()) queries.erase(newest);
    }
    return page.TakeRows();
}

Result<TaskRow> Reader::FindTask(Partition, const TaskId& id) {
    find_task_.Text(id.view());
    const Rows rows(find_task_);
    if (!find_task_.Step()) return NoSuchTask(id);
    return sql::ReadTask(id.view(), find_task_.row().Bytes(1));
}

Result<std::vector<TaskRow>> Reader::ListTasks(const TaskFilter& filter) {
    list_tasks_.Text(filter.after);
    list_tasks_.Text(filter.name_contains);
    list_tasks_.Int(static_cast<std::int64_t>(filter.limit));
    const Rows rows(list_tasks_);
    std::vector<TaskRow> found;
    while (list_tasks_.Step()) {
        const Row row = list_tasks_.row();
        auto task = sql::ReadTaskOrTell(row.Bytes(0), row.Bytes(1));
        if (task) found.push_back(std::move(*task));
    }
    return found;
}

Result<std::vector<Worker>> Reader::ListWorkers(Partition) {
    const Rows rows(list_workers_);
    std::vector<Worker> found;
    while (list_workers_.Step()) {
        const Row row = list_workers_.row();
        if (!found.empty() && found.back().id.view() == row.Bytes(0)) continue;
        found.push_back(sql::ReadWorker(row.Bytes(0), row.Bytes(1)));
    }
    return found;
}

Result<std::vector<SettingPut>> Reader::ListSettings(Partition, const Text& key_prefix) {
    list_settings_.Text(key_prefix);
    if (auto end = sql::EndOfPrefix(key_prefix)) {
        list_settings_.Text(list_settings_.Keep(std::move(*end)));
    } else {
        list_settings_.Blob({});  // SQLite sorts every blob behind every text.
    }
    const Rows rows(list_settings_);
    std::vector<SettingPut> found;
    while (list_settings_.Step()) {
        const Row row = list_settings_.row();
        const std::string_view key = row.Bytes(0);
        if (!found.empty() && found.back().key.view() == key) continue;
        found.push_back({Text(key), Text(row.Bytes(1))});
    }
    return found;
}

Result<std::vector<LogChunk>> Reader::ReadLog(Partition, const ExecutionId& execution, Serial after,
                                              std::size_t limit) {
    read_log_.Text(execution.view());
    read_log_.Int(static_cast<std::int64_t>(after));
    read_log_.Int(static_cast<std::int64_t>(limit));
    const Rows rows(read_log_);
    std::vector<LogChunk> found;
    while (read_log_.Step()) {
        const Row row = read_log_.row();
        found.push_back({execution, static_cast<Serial>(row.Int(0)),
                         static_cast<std::uint32_t>(row.Int(1)), Time(Duration(row.Int(2))),
                         Text(row.Bytes(3))});
    }
    return found;
}

Result<std::vector<Event>> Reader::ReadEvents(Partition, Serial after, std::size_t limit) {
    read_events_.Int(static_cast<std::int64_t>(after));
    read_events_.Int(static_cast<std::int64_t>(limit));
    const Rows rows(read_events_);
    std::vector<Event> found;
    while (read_events_.Step()) {
        const Row row = read_events_.row();
        found.push_back(sql::ReadEvent(static_cast<Serial>(row.Int(0)), row.Bytes(1)));
    }
    return found;
}

Result<std::vector<AuditRow>> Reader::ReadAudit(Partition, Serial, std::size_t) {
    return HasNoSuchRows();
}

}  // namespace takt::internal::embedded
