#include "store/embedded/reader.h"

#include <algorithm>

#include "store/embedded/schema.h"
#include "store/list_page.h"
#include "store/sql/execution_query.h"
#include "store/sql/execution_row.h"
#include "store/sql/record_row.h"

namespace takt::internal::embedded {
namespace {

// Instructions of SQLite's virtual machine between two looks at the clock: less than a millisecond.
constexpr int kInstructionsPerLook = 10'000;

std::string SelectExecutions(const std::string& rest) {
    return "SELECT " + std::string(sql::kExecutionColumns) + " FROM " + rest;
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

Reader::Tables::Tables(Connection& connection, Partition of) : partition(of) {
    const std::string p = TablePrefix(of);
    const std::string rest = " WHERE serial > ? ORDER BY serial LIMIT ?";
    load_live = connection.Prepare(SelectExecutions(p + "live" + rest));
    load_children = connection.Prepare(SelectExecutions(p + "child_live" + rest));
    load_tasks = connection.Prepare("SELECT id, record FROM " + p +
                                    "tasks WHERE id > ? AND partition = ? ORDER BY id LIMIT ?");
    load_records =
        connection.Prepare("SELECT kind, key, value FROM " + p +
                           "records WHERE (kind, key) > (?, ?) ORDER BY kind, key LIMIT ?");
    list_workers = connection.Prepare("SELECT id, record FROM " + p +
                                      "workers WHERE partition = ? ORDER BY id");
    all_settings = connection.Prepare("SELECT key, value FROM " + p +
                                      "settings WHERE partition = ? ORDER BY key");
    list_settings =
        connection.Prepare("SELECT key, value FROM " + p +
                           "settings WHERE partition = ? AND key >= ? AND key < ? ORDER BY key");
    find_live = connection.Prepare(SelectExecutions(p + "live WHERE id = ?"));
    find_history = connection.Prepare(SelectExecutions(p + "history WHERE id = ?"));
    find_child_live = connection.Prepare(SelectExecutions(p + "child_live WHERE id = ?"));
    find_child_history = connection.Prepare(SelectExecutions(p + "child_history WHERE id = ?"));
    find_task = connection.Prepare("SELECT id, record FROM " + p + "tasks WHERE id = ?");
    list_tasks = connection.Prepare("SELECT id, record FROM " + p + "tasks WHERE id > ? AND " +
                                    sql::Sqlite(p).contains("name") + " ORDER BY id LIMIT ?");
    read_log = connection.Prepare("SELECT chunk, attempt, at_ms, lines FROM " + p +
                                  "logs WHERE execution = ? AND chunk > ? ORDER BY chunk LIMIT ?");
    read_events = connection.Prepare("SELECT serial, record FROM " + p +
                                     "events WHERE serial > ? ORDER BY serial LIMIT ?");
    read_audit = connection.Prepare("SELECT serial, at_ms, body FROM " + p +
                                    "audit WHERE serial < ? ORDER BY serial DESC LIMIT ?");
}

Reader::Reader(Connection connection, std::size_t load_page_rows)
    : connection_(std::move(connection)),
      load_page_rows_(load_page_rows),
      last_serial_(connection_.Prepare("SELECT last_serial FROM terms WHERE partition = ?")),
      partitions_(connection_) {
    sqlite3_progress_handler(
        connection_.get(), kInstructionsPerLook,
        [](void* reader) {
            return SteadyClock::now() > static_cast<Reader*>(reader)->deadline_ ? 1 : 0;
        },
        this);
}

template <typename T, typename Work>
Result<T> Reader::From(Partition partition, T nothing, Work work) {
    try {
        return work(partitions_.Of(partition));
    } catch (const SqliteError& error) {
        if (partition == kDefaultPartition || !error.no_such_table()) throw;
        partitions_.Forget(partition);
        return nothing;
    }
}

Result<LoadPage> Reader::Load(Partition partition, const std::string& cursor) {
    using Kind = sql::LoadCursor::Kind;
    const Snapshot snapshot(connection_);
    LoadPage begin;
    last_serial_.Int(partition);
    if (const Rows rows(last_serial_); last_serial_.Step()) {
        begin.last_serial = static_cast<Serial>(last_serial_.row().Int(0));
    }
    const Result<sql::LoadCursor> at = sql::ParseLoadCursor(cursor);
    if (!at) return std::unexpected(at.error());
    return From(partition, begin, [&](Tables& tables) {
        LoadPage page = begin;
        if (cursor.empty()) LoadBeginning(tables, page);
        if (at->kind == Kind::kTasks) LoadTasks(tables, at->key, page);
        if (at->kind != Kind::kExecutions && page.next.empty()) {
            const bool records = at->kind == Kind::kRecords;
            LoadRecords(tables, at->record, records ? at->key : std::string_view(), page);
        }
        if (page.next.empty()) LoadExecutions(tables, at->serial, page);
        return page;
    });
}

Result<std::vector<std::optional<Execution>>> Reader::FindExecutions(
    Partition partition, const std::vector<ExecutionId>& ids) {
    const Snapshot snapshot(connection_);
    using Found = std::vector<std::optional<Execution>>;
    return From(partition, Found(ids.size()), [&](Tables& tables) {
        sql::ExecutionReader reader;
        Found found;
        found.reserve(ids.size());
        for (const ExecutionId& id : ids) {
            std::optional<Execution>& row = found.emplace_back();
            for (Statement* statement : {&tables.find_live, &tables.find_history,
                                         &tables.find_child_live, &tables.find_child_history}) {
                statement->Text(id.view());
                const Rows rows(*statement);
                if (!statement->Step()) continue;
                row = reader.Read(statement->row());
                break;
            }
        }
        return found;
    });
}

Result<std::vector<Execution>> Reader::ListExecutions(const ExecutionFilter& filter) {
    const Snapshot snapshot(connection_);
    return From(filter.partition, std::vector<Execution>(), [&](Tables&) {
        const sql::Dialect dialect = sql::Sqlite(TablePrefix(filter.partition));
        std::vector<Statement> queries;  // Each at its newest row that is not on the page yet.
        for (const sql::Query& query :
             sql::ListQueries(dialect, filter, sql::ListColumns(filter))) {
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
    });
}

Result<TaskRow> Reader::FindTask(Partition partition, const TaskId& id) {
    const auto found = From(partition, std::optional<Result<TaskRow>>(), [&](Tables& tables) {
        std::optional<Result<TaskRow>> row;
        tables.find_task.Text(id.view());
        const Rows rows(tables.find_task);
        if (tables.find_task.Step()) {
            row = sql::ReadTask(id.view(), tables.find_task.row().Bytes(1));
        }
        return row;
    });
    if (!*found) return NoSuchTask(id);
    return **found;
}

Result<std::vector<TaskRow>> Reader::ListTasks(const TaskFilter& filter) {
    return From(filter.partition, std::vector<TaskRow>(), [&](Tables& tables) {
        Statement& list = tables.list_tasks;
        list.Text(filter.after);
        list.Text(filter.name_contains);
        list.Int(static_cast<std::int64_t>(filter.limit));
        const Rows rows(list);
        std::vector<TaskRow> found;
        while (list.Step()) {
            auto task = sql::ReadTaskOrTell(list.row().Bytes(0), list.row().Bytes(1));
            if (task) found.push_back(std::move(*task));
        }
        return found;
    });
}

Result<std::vector<Worker>> Reader::ListWorkers(Partition partition) {
    return From(partition, std::vector<Worker>(), [&](Tables& tables) {
        Statement& list = tables.list_workers;
        list.Int(partition);
        const Rows rows(list);
        std::vector<Worker> found;
        while (list.Step()) {
            found.push_back(sql::ReadWorker(list.row().Bytes(0), list.row().Bytes(1)));
        }
        return found;
    });
}

Result<std::vector<SettingPut>> Reader::ListSettings(Partition partition, const Text& key_prefix) {
    return From(partition, std::vector<SettingPut>(), [&](Tables& tables) {
        Statement& list = tables.list_settings;
        list.Int(partition);
        list.Text(key_prefix);
        if (auto end = sql::EndOfPrefix(key_prefix)) {
            list.Text(list.Keep(std::move(*end)));
        } else {
            list.Blob({});  // SQLite sorts every blob behind every text.
        }
        const Rows rows(list);
        std::vector<SettingPut> found;
        while (list.Step()) {
            found.push_back({Text(list.row().Bytes(0)), Text(list.row().Bytes(1))});
        }
        return found;
    });
}

Result<std::vector<LogChunk>> Reader::ReadLog(Partition partition, const ExecutionId& execution,
                                              Serial after, std::size_t limit) {
    return From(partition, std::vector<LogChunk>(), [&](Tables& tables) {
        Statement& read = tables.read_log;
        read.Text(execution.view());
        read.Int(static_cast<std::int64_t>(after));
        read.Int(static_cast<std::int64_t>(limit));
        const Rows rows(read);
        std::vector<LogChunk> found;
        while (read.Step()) {
            const Row row = read.row();
            found.push_back({execution, static_cast<Serial>(row.Int(0)),
                             static_cast<std::uint32_t>(row.Int(1)), Time(Duration(row.Int(2))),
                             Text(row.Bytes(3))});
        }
        return found;
    });
}

Result<std::vector<Event>> Reader::ReadEvents(Partition partition, Serial after,
                                              std::size_t limit) {
    return From(partition, std::vector<Event>(), [&](Tables& tables) {
        Statement& read = tables.read_events;
        read.Int(static_cast<std::int64_t>(after));
        read.Int(static_cast<std::int64_t>(limit));
        const Rows rows(read);
        std::vector<Event> found;
        while (read.Step()) {
            const Row row = read.row();
            found.push_back(sql::ReadEvent(static_cast<Serial>(row.Int(0)), row.Bytes(1)));
        }
        return found;
    });
}

Result<std::vector<AuditRow>> Reader::ReadAudit(Partition partition, Serial before,
                                                std::size_t limit) {
    return From(partition, std::vector<AuditRow>(), [&](Tables& tables) {
        Statement& read = tables.read_audit;
        read.Int(before == 0 ? INT64_MAX : static_cast<std::int64_t>(before));
        read.Int(static_cast<std::int64_t>(limit));
        const Rows rows(read);
        std::vector<AuditRow> found;
        while (read.Step()) {
            const Row row = read.row();
            found.push_back(
                {static_cast<Serial>(row.Int(0)), Time(Duration(row.Int(1))), Text(row.Bytes(2))});
        }
        return found;
    });
}

}  // namespace takt::internal::embedded
