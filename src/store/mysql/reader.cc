#include "store/mysql/reader.h"

#include <fmt/format.h>
#include <mysqld_error.h>

#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "store/list_page.h"
#include "store/mysql/schema.h"
#include "store/mysql/values.h"
#include "store/name_list.h"
#include "store/sql/execution_query.h"
#include "store/sql/execution_row.h"

namespace takt::internal::mysql {
namespace {

constexpr const char* kBegin = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";

// REPEATABLE READ is the server's default, said again in case it was changed: one state for several
// queries needs it. The server ends a query itself before we stop waiting for it, or it would go on
// with what nobody reads. MariaDB and MySQL call that limit differently, and each skips the comment
// that is for the other.
std::string ReaderSetup(const MysqlOptions& options) {
    const auto limit = std::chrono::milliseconds(options.timeout) * 4 / 5;
    return fmt::format(
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;"
        "SET SESSION autocommit = 1 /*M!, max_statement_time = {:.1f} */ "
        "/*!80000 , max_execution_time = {} */{}",
        static_cast<double>(limit.count()) / 1000, limit.count(),
        options.pinned ? std::string(";") + kBegin : "");
}

// MariaDB turns an IN list of 1000 into a subquery, whose plan may be a scan.
constexpr std::size_t kIdsMax = 500;

// How large the rows of a list are: serial and bytes.
constexpr std::string_view kSizeColumns =
    "serial, COALESCE(LENGTH(payload), 0) + COALESCE(LENGTH(task_payload), 0) + "
    "COALESCE(LENGTH(outcome), 0) + COALESCE(LENGTH(progress), 0)";

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
    : options_(options), session_(options, ReaderSetup(options), Silent::kUse) {}

template <typename Work>
auto Reader::Read(Work work) {
    if (options_.pinned) {
        Connection& connection = session_.Get();
        // A new connection would see another moment.
        if (session_.generation() == 1) return work(connection);
        throw MysqlError(kNoAnswer, "the connection that held the moment of a snapshot was lost");
    }
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
    const std::string packet = options_.pinned
                                   ? fmt::format("{}", fmt::join(queries, ";"))
                                   : fmt::format("{};{};COMMIT", kBegin, fmt::join(queries, ";"));
    return Read([&](Connection& connection) { return connection.Run(packet); });
}

Rows Reader::QueryOne(const std::string& query) {
    return Read([&](Connection& connection) { return connection.Query(query); });
}

bool Reader::WasThere(Partition partition, bool gone) {
    return QueryOne(fmt::format("SELECT 1 FROM {}terms WHERE partition_id = {}{}", options_.prefix,
                                partition, gone ? " AND nonce <> 0 AND sequence > 0" : ""))
        .Next();
}

Result<std::vector<std::optional<Execution>>> Reader::FindExecutions(
    Partition partition, const std::vector<ExecutionId>& ids) {
    using Found = std::vector<std::optional<Execution>>;
    return From(partition, Found(ids.size()), [&](const std::string& prefix) {
        std::vector<std::string> queries;
        std::string list;
        std::vector<Serial> serials;  // Of the ids that spell one.
        const auto flush = [&] {
            if (list.empty()) return;
            for (const std::string_view table :
                 {"live", "history", "child_live", "child_history"}) {
                queries.push_back(fmt::format("SELECT {} FROM {}{} WHERE id IN ({})",
                                              sql::kExecutionColumns, prefix, table, list));
            }
            list.clear();
            if (serials.empty()) return;
            queries.push_back(
                fmt::format("SELECT {} FROM {}once_live FORCE INDEX (PRIMARY) WHERE serial IN ({})",
                            sql::kExecutionColumns, prefix, fmt::join(serials, ",")));
            serials.clear();
        };
        std::size_t count = 0;
        for (const ExecutionId& id : ids) {
            // There is none with such an id, and asking would not be by index.
            if (!IsValidId(id.view())) continue;
            if (!list.empty()) list += ',';
            AppendText(list, id.view());
            if (const auto serial = ParseSerial(id.view())) serials.push_back(*serial);
            if (++count % kIdsMax == 0) flush();
        }
        flush();
        Found found(ids.size());
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
    });
}

Result<std::vector<Execution>> Reader::ListExecutions(const ExecutionFilter& filter) {
    const auto no_id = [](const auto& id) { return id && !IsValidId(id->view()); };
    if (no_id(filter.task) || no_id(filter.worker) || no_id(filter.parent)) {
        return std::vector<Execution>();
    }
    return From(filter.partition, std::vector<Execution>(), [&](const std::string&) {
        return filter.brief ? ListBrief(filter) : ListWhole(filter);
    });
}

std::vector<std::string> Reader::ListQueries(const ExecutionFilter& filter,
                                             std::string_view columns) const {
    const sql::Dialect dialect = sql::Mysql(TablePrefix(options_.prefix, filter.partition));
    std::vector<std::string> queries;
    for (const sql::Query& query : sql::ListQueries(dialect, filter, columns)) {
        queries.push_back(Render(query));
    }
    return queries;
}

std::vector<Execution> Reader::ListBrief(const ExecutionFilter& filter) {
    std::vector<Execution> found;
    sql::ExecutionReader reader(true);
    for (Rows& rows : Query(ListQueries(filter, sql::ListColumns(filter)))) {
        while (rows.Next()) found.push_back(reader.Read(rows));
    }
    std::ranges::sort(found, std::greater<>(), &Execution::serial);
    return MakeListPage(filter, std::move(found));
}

// Answers are in memory as a whole. So a first look tells how large the rows are, and then they
// come in groups that are not, until the page is full; all of one state.
std::vector<Execution> Reader::ListWhole(const ExecutionFilter& filter) {
    const std::string look =
        fmt::format("{}{}", options_.pinned ? std::string() : std::string(kBegin) + ";",
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
            ReadGroup(connection, filter, group, page);
        }
        if (!options_.pinned) connection.Run("COMMIT");
        return page.TakeRows();
    });
}

void Reader::ReadGroup(Connection& connection, const ExecutionFilter& filter,
                       const std::vector<Serial>& group, ListPage& page) {
    std::string packet;
    const auto add = [&](std::string_view table) {
        if (!packet.empty()) packet += ';';
        packet +=
            fmt::format("SELECT {} FROM {}{} FORCE INDEX (PRIMARY) WHERE serial IN ({})",
                        sql::kExecutionColumns, TablePrefix(options_.prefix, filter.partition),
                        table, fmt::join(group, ","));
    };
    if (!filter.parent) {
        for (const std::string_view table : {"once_live", "live", "history"}) add(table);
    }
    if (filter.parent || filter.children) {
        for (const std::string_view table : {"child_live", "child_history"}) add(table);
    }
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

}  // namespace takt::internal::mysql
