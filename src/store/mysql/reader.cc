#include "store/mysql/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "store/list_page.h"
#include "store/mysql/values.h"
#include "store/name_list.h"
#include "store/refusals.h"
#include "store/sql/execution_query.h"
#include "store/sql/execution_row.h"
#include "store/sql/record_row.h"

namespace takt::internal::mysql {
namespace {

// REPEATABLE READ is the server's default, said again in case it was changed: one state for several
// queries needs it. The server ends a query itself before we stop waiting for it, or it would go on
// with what nobody reads. MariaDB and MySQL call that limit differently, and each skips the comment
// that is for the other.
std::string ReaderSetup(const MysqlOptions& options) {
    const auto limit = std::chrono::milliseconds(options.timeout) * 4 / 5;
    return fmt::format(
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;"
        "SET SESSION autocommit = 1 /*M!, max_statement_time = {:.1f} */ "
        "/*!80000 , max_execution_time = {} */",
        static_cast<double>(limit.count()) / 1000, limit.count());
}

// MariaDB turns an IN list of 1000 into a subquery, whose plan may be a scan.
constexpr std::size_t kIdsMax = 500;

// How large the rows of a list are: serial and bytes.
constexpr std::string_view kSizeColumns =
    "serial, COALESCE(LENGTH(payload), 0) + COALESCE(LENGTH(task_payload), 0) + "
    "COALESCE(LENGTH(outcome), 0)";

}  // namespace

std::string Render(const sql::Query& query) {
    std::string text;
    std::size_t next = 0;
    for (const char c : query.sql) {
        if (c != '?') {
            text += c;
            continue;
        }
        const sql::Parameter& parameter = query.parameters.at(next++);
        if (const auto* number = std::get_if<std::int64_t>(&parameter)) {
            AppendInt(text, *number);
        } else {
            AppendText(text, std::get<internal::Text>(parameter));
        }
    }
    return text;
}

Reader::Reader(const MysqlOptions& options)
    : options_(options),
      dialect_(sql::Mysql(options.prefix)),
      session_(options, ReaderSetup(options)) {}

template <typename Work>
auto Reader::Read(Work work) {
    return session_.Retry([&](Connection& connection) {
        const Steady begin = SteadyClock::now();
        try {
            return work(connection);
        } catch (const MysqlError& error) {
            const bool late = error.lost() && SteadyClock::now() - begin >= session_.timeout();
            // The next read must not see the state that this one was to see.
            if (late || !error.lost()) session_.Drop();
            if (late) throw MysqlError(kNoAnswer, error.what());
            throw;
        }
    });
}

std::vector<Rows> Reader::Query(std::span<const std::string> queries) {
    const std::string packet = fmt::format(
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY;{};COMMIT", fmt::join(queries, ";"));
    return Read([&](Connection& connection) { return connection.Run(packet); });
}

Rows Reader::QueryOne(const std::string& query) {
    return Read([&](Connection& connection) { return connection.Query(query); });
}

Result<std::vector<std::optional<Execution>>> Reader::FindExecutions(
    Partition, const std::vector<ExecutionId>& ids) {
    std::vector<std::string> queries;
    std::string list;
    const auto flush = [&] {
        if (list.empty()) return;
        for (const std::string_view table : {"live", "history"}) {
            queries.push_back(fmt::format("SELECT {} FROM {}{} WHERE id IN ({})",
                                          sql::kExecutionColumns, options_.prefix, table, list));
        }
        list.clear();
    };
    std::size_t count = 0;
    for (const ExecutionId& id : ids) {
        // There is none with such an id, and asking would not be by index.
        if (!IsValidId(id.view())) continue;
        if (!list.empty()) list += ',';
        AppendText(list, id.view());
        if (++count % kIdsMax == 0) flush();
    }
    flush();
    std::vector<std::optional<Execution>> found(ids.size());
    if (queries.empty()) return found;
    std::unordered_map<Text, Execution, TextHash, TextEqual> by_id;
    sql::ExecutionReader reader;
    for (Rows& rows : Query(queries)) {
        while (rows.Next()) {
            Execution row = reader.Read(rows);
            by_id.emplace(row.id.text(), std::move(row));
        }
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto row = by_id.find(ids[i].text());
        if (row != by_id.end()) found[i] = row->second;
    }
    return found;
}

Result<std::vector<Execution>> Reader::ListExecutions(const ExecutionFilter& filter) {
    std::vector<Execution> found;
    if ((filter.task && !IsValidId(filter.task->view())) ||
        (filter.worker && !IsValidId(filter.worker->view()))) {
        return found;
    }
    if (!filter.brief) return ListWhole(filter);
    sql::ExecutionReader reader(true);
    for (Rows& rows : Query(ListQueries(filter, sql::ListColumns(filter)))) {
        while (rows.Next()) found.push_back(reader.Read(rows));
    }
    std::ranges::sort(found, std::greater<>(), &Execution::serial);
    return MakeListPage(filter, std::move(found));
}

std::vector<std::string> Reader::ListQueries(const ExecutionFilter& filter,
                                             std::string_view columns) const {
    std::vector<std::string> queries;
    for (const sql::Query& query : sql::ListQueries(dialect_, filter, columns)) {
        queries.push_back(Render(query));
    }
    return queries;
}

// Answers are in memory as a whole. So a first look tells how large the rows are, and then they
// come in groups that are not, until the page is full; all of one state.
Result<std::vector<Execution>> Reader::ListWhole(const ExecutionFilter& filter) {
    const std::string look = fmt::format("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY;{}",
                                         fmt::join(ListQueries(filter, kSizeColumns), ";"));
    return Read([&](Connection& connection) {
        std::vector<std::pair<Serial, std::size_t>> sizes;
        for (Rows& rows : connection.Run(look)) {
            while (rows.Next()) sizes.emplace_back(rows.Unsigned(0), rows.Unsigned(1));
        }
        std::ranges::sort(sizes, std::greater<>());
        if (sizes.size() > filter.limit) sizes.resize(filter.limit);
        ListPage page(filter);
        for (auto next = sizes.begin(); next != sizes.end() && !page.full();) {
            std::vector<Serial> group;
            for (std::size_t bytes = 0;
                 next != sizes.end() && bytes < kPageBytes && group.size() < kIdsMax; ++next) {
                group.push_back(next->first);
                bytes += next->second;
            }
            ReadGroup(connection, group, page);
        }
        connection.Run("COMMIT");
        return page.TakeRows();
    });
}

void Reader::ReadGroup(Connection& connection, const std::vector<Serial>& group, ListPage& page) {
    const std::string packet = fmt::format(
        "SELECT {0} FROM {1}live WHERE serial IN ({2});"
        "SELECT {0} FROM {1}history WHERE serial IN ({2})",
        sql::kExecutionColumns, options_.prefix, fmt::join(group, ","));
    sql::ExecutionReader reader;
    std::vector<Execution> found;
    for (Rows& rows : connection.Run(packet)) {
        while (rows.Next()) found.push_back(reader.Read(rows));
    }
    std::ranges::sort(found, std::greater<>(), &Execution::serial);
    for (Execution& row : found) {
        if (!page.full()) page.Add(std::move(row));
    }
}

Result<TaskRow> Reader::FindTask(Partition, const TaskId& id) {
    Rows row = QueryOne(fmt::format("SELECT record FROM {}tasks WHERE id = {}", options_.prefix,
                                    TextLiteral(id.view())));
    if (!row.Next()) return NoSuchTask(id);
    return sql::ReadTask(id.view(), row.Bytes(0));
}

Result<std::vector<TaskRow>> Reader::ListTasks(const TaskFilter& filter) {
    Rows rows = QueryOne(Render(
        {fmt::format("SELECT id, record FROM {}tasks WHERE id > ? AND {} ORDER BY id LIMIT ?",
                     options_.prefix, dialect_.contains("name")),
         {Text(filter.after), filter.name_contains, std::int64_t(filter.limit)}}));
    std::vector<TaskRow> found;
    while (rows.Next()) {
        auto task = sql::ReadTaskOrTell(rows.Bytes(0), rows.Bytes(1));
        if (task) found.push_back(std::move(*task));
    }
    return found;
}

Result<std::vector<Worker>> Reader::ListWorkers(Partition) {
    Rows rows = QueryOne(
        fmt::format("SELECT id, record FROM {}workers ORDER BY id, partition_id", options_.prefix));
    std::vector<Worker> found;
    while (rows.Next()) {
        if (!found.empty() && found.back().id.view() == rows.Bytes(0)) continue;
        found.push_back(sql::ReadWorker(rows.Bytes(0), rows.Bytes(1)));
    }
    return found;
}

Result<std::vector<SettingPut>> Reader::ListSettings(Partition, const Text& key_prefix) {
    // By partition, so that the primary key serves: most settings are statistics of past days.
    std::string partitions;
    Rows terms = QueryOne(fmt::format("SELECT partition_id FROM {}terms", options_.prefix));
    while (terms.Next()) {
        if (!partitions.empty()) partitions += ',';
        partitions += terms.Bytes(0);
    }
    if (partitions.empty()) return std::vector<SettingPut>();
    std::string query =
        fmt::format("SELECT name, value FROM {}settings WHERE partition_id IN ({}) AND name >= ",
                    options_.prefix, partitions);
    AppendBinary(query, key_prefix);
    if (const auto end = sql::EndOfPrefix(key_prefix)) {
        query += " AND name < ";
        AppendBinary(query, *end);
    }
    Rows rows = QueryOne(query + " ORDER BY name, partition_id");
    std::vector<SettingPut> found;
    while (rows.Next()) {
        const std::string_view key = rows.Bytes(0);
        if (!found.empty() && found.back().key.view() == key) continue;
        found.push_back({Text(key), Text(rows.Bytes(1))});
    }
    return found;
}

Result<std::vector<LogChunk>> Reader::ReadLog(Partition, const ExecutionId& execution, Serial after,
                                              std::size_t limit) {
    Rows rows = QueryOne(
        fmt::format("SELECT chunk, attempt, at_ms, content FROM {}logs WHERE execution = {} AND "
                    "chunk > {} ORDER BY chunk LIMIT {}",
                    options_.prefix, TextLiteral(execution.view()), after, limit));
    std::vector<LogChunk> found;
    while (rows.Next()) {
        found.push_back({execution, rows.Unsigned(0), static_cast<std::uint32_t>(rows.Int(1)),
                         Time(Duration(rows.Int(2))), Text(rows.Bytes(3))});
    }
    return found;
}

Result<std::vector<Event>> Reader::ReadEvents(Partition, Serial after, std::size_t limit) {
    Rows rows = QueryOne(fmt::format(
        "SELECT serial, record FROM {}events WHERE serial > {} ORDER BY serial LIMIT {}",
        options_.prefix, after, limit));
    std::vector<Event> found;
    while (rows.Next()) found.push_back(sql::ReadEvent(rows.Unsigned(0), rows.Bytes(1)));
    return found;
}

// Those of a version before announce themselves in a table of their own.
Result<std::vector<NodeRow>> Reader::Nodes() {
    Rows row = QueryOne(fmt::format(
        "SELECT node, address, version, started_at_ms, namespaces FROM {0}schedulers WHERE "
        "expires > UTC_TIMESTAMP(3) UNION SELECT node, address, version, started_at_ms, '' FROM "
        "{0}nodes WHERE expires > UTC_TIMESTAMP(3) ORDER BY node",
        options_.prefix));
    std::vector<NodeRow> nodes;
    while (row.Next()) {
        nodes.push_back({NodeId(Text(row.Bytes(0))), Text(row.Bytes(1)), Text(row.Bytes(2)),
                         Time(Duration(row.Int(3))), SplitNames(row.Bytes(4))});
    }
    return nodes;
}

Result<std::vector<AuditRow>> Reader::ReadAudit(Partition, Serial, std::size_t) {
    return HasNoSuchRows();
}

}  // namespace takt::internal::mysql
