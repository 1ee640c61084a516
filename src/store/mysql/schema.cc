#include "store/mysql/schema.h"

#include <fmt/format.h>
#include <mysqld_error.h>

#include <array>

#include "store/mysql/judge.h"
#include "store/mysql/values.h"

namespace takt::internal::mysql {
namespace {

// Of live and history alike. Ids and names of states
// are text, so that every tool shows them; what users choose freely is bytes, because text columns
// refuse what is no UTF-8 and take 'a' and 'a ' for equal. Defaults are what batch_sql.cc leaves
// out.
constexpr std::string_view kExecutionColumns1 = R"(
    serial BIGINT NOT NULL PRIMARY KEY,
    id VARCHAR(64) NOT NULL,
    task_id VARCHAR(64),
    task_name BLOB NOT NULL,
    type BLOB NOT NULL,
    queue BLOB NOT NULL,
    priority TINYINT UNSIGNED NOT NULL DEFAULT 0,
    task_version INT UNSIGNED NOT NULL DEFAULT 0,
    timeout_ms BIGINT NOT NULL DEFAULT 0,
    run_at_ms BIGINT NOT NULL DEFAULT 0,
    task_created_at_ms BIGINT NOT NULL DEFAULT 0,
    task_updated_at_ms BIGINT NOT NULL DEFAULT 0,
    origin VARCHAR(16) NOT NULL,
    created_at_ms BIGINT NOT NULL DEFAULT 0,
    scheduled_at_ms BIGINT NOT NULL DEFAULT 0,
    status VARCHAR(16) NOT NULL,
    attempt INT UNSIGNED NOT NULL DEFAULT 0,
    failures INT UNSIGNED NOT NULL DEFAULT 0,
    losses INT UNSIGNED NOT NULL DEFAULT 0,
    epoch BIGINT NOT NULL DEFAULT 0,
    token VARBINARY(16),
    worker VARCHAR(64),
    ready_at_ms BIGINT NOT NULL DEFAULT 0,
    started_at_ms BIGINT NOT NULL DEFAULT 0,
    finished_at_ms BIGINT NOT NULL DEFAULT 0,
    outcome LONGBLOB,
    options LONGBLOB,
    task_payload LONGBLOB,
    payload LONGBLOB)";

// Columns that an execution has since version 2.
constexpr std::array<std::string_view, 6> kAddedColumns2 = {
    "parent VARCHAR(64)",
    "step BLOB",
    "shard_index INT UNSIGNED NOT NULL DEFAULT 0",
    "shard_total INT UNSIGNED NOT NULL DEFAULT 0",
    "round INT UNSIGNED NOT NULL DEFAULT 0",
    "progress LONGBLOB",
};

// An index of InnoDB ends with the primary key, so each of these is in the order of a list.
// {0} is the prefix of the partition's tables, {1} the columns of an execution, {2} the end of the
// index by task, which step 4 changed.
constexpr std::array<std::string_view, 7> kRows1 = {
    R"({0}live ({1},
    UNIQUE KEY live_id (id), KEY live_task (task_id)))",
    R"({0}history ({1},
    UNIQUE KEY history_id (id), KEY history_task{2}, KEY history_status (status),
    KEY history_worker (worker), KEY history_finished (finished_at_ms)))",
    R"({0}tasks (
    id VARCHAR(64) NOT NULL PRIMARY KEY,
    partition_id TINYINT UNSIGNED NOT NULL,
    name BLOB NOT NULL,
    record LONGBLOB NOT NULL))",
    R"({0}workers (
    partition_id TINYINT UNSIGNED NOT NULL,
    id VARCHAR(64) NOT NULL,
    record LONGBLOB NOT NULL,
    PRIMARY KEY (partition_id, id)))",
    R"({0}settings (
    partition_id TINYINT UNSIGNED NOT NULL,
    name VARBINARY(1024) NOT NULL,
    value LONGBLOB NOT NULL,
    PRIMARY KEY (partition_id, name)))",
    R"({0}events (
    serial BIGINT NOT NULL PRIMARY KEY,
    type VARCHAR(32) NOT NULL,
    record LONGBLOB NOT NULL))",
    R"({0}logs (
    execution VARCHAR(64) NOT NULL,
    chunk BIGINT NOT NULL,
    attempt INT UNSIGNED NOT NULL,
    at_ms BIGINT NOT NULL,
    content LONGBLOB NOT NULL,
    PRIMARY KEY (execution, chunk)))",
};

// Children of runs have tables of their own: an index by parent, or one more condition of a purge,
// would have to be built over all that is there, and be written for each execution that is no child.
constexpr std::array<std::string_view, 4> kRows2 = {
    R"({0}child_live ({1},
    UNIQUE KEY child_live_id (id), KEY child_live_task (task_id), KEY child_live_parent (parent)))",
    R"({0}child_history ({1},
    UNIQUE KEY child_history_id (id), KEY child_history_task{2},
    KEY child_history_status (status), KEY child_history_worker (worker),
    KEY child_history_parent (parent)))",
    R"({0}records (
    kind TINYINT UNSIGNED NOT NULL,
    name VARBINARY(1024) NOT NULL,
    value LONGBLOB NOT NULL,
    PRIMARY KEY (kind, name)))",
    R"({0}audit (
    serial BIGINT NOT NULL PRIMARY KEY,
    at_ms BIGINT NOT NULL,
    body LONGBLOB NOT NULL))",
};

// Executions of one-off tasks with generated ids are in a table without any other index than the
// key, for they need none: what is written to it counts, with each of them inserted, changed and
// deleted. `room` is what a row gives up when it is assigned, which makes it longer: a page is full
// of rows as they were inserted, and else would be split again and again. `writes` lets each change
// change something. An update is written as an insert (once_statements.h), so nothing but the key
// must be said.
constexpr std::string_view kOnceLive = R"({0}once_live ({1},
    writes INT UNSIGNED NOT NULL DEFAULT 0,
    room VARBINARY(64) NOT NULL DEFAULT '................................................................'))";

// Tables of the whole cluster. `terms` is the fence, locked by every commit; `leases` is apart from
// it, so that a renewal never waits for a commit.
constexpr std::array<std::string_view, 3> kShared1 = {
    R"({0}terms (
    partition_id TINYINT UNSIGNED NOT NULL PRIMARY KEY,
    epoch BIGINT UNSIGNED NOT NULL,
    nonce BIGINT UNSIGNED NOT NULL,
    sequence BIGINT UNSIGNED NOT NULL,
    last_serial BIGINT NOT NULL))",
    R"({0}leases (
    partition_id TINYINT UNSIGNED NOT NULL PRIMARY KEY,
    epoch BIGINT UNSIGNED NOT NULL,
    nonce BIGINT UNSIGNED NOT NULL,
    node VARCHAR(64) NOT NULL,
    address VARBINARY(2048) NOT NULL,
    expires DATETIME(3) NOT NULL,
    locked TINYINT NOT NULL))",
    R"({0}nodes (
    node VARCHAR(64) NOT NULL PRIMARY KEY,
    address VARBINARY(2048) NOT NULL,
    version VARBINARY(255) NOT NULL,
    started_at_ms BIGINT NOT NULL,
    expires DATETIME(3) NOT NULL))",
};

// Who is announced, and with whom all of its terms stand. Its rows are written every few seconds, so
// it is apart from `leases`, and a table of its own beside the `nodes` of versions before.
constexpr std::string_view kSchedulers = R"({0}schedulers (
    node VARCHAR(64) NOT NULL PRIMARY KEY,
    address VARBINARY(2048) NOT NULL,
    version VARBINARY(255) NOT NULL,
    started_at_ms BIGINT NOT NULL,
    namespaces LONGBLOB NOT NULL,
    ttl_ms BIGINT NOT NULL,
    locked TINYINT NOT NULL,
    expires DATETIME(3) NOT NULL))";

constexpr std::array<std::string_view, 12> kRowTables = {
    "live",    "history",  "once_live", "child_live", "child_history", "tasks",
    "workers", "settings", "records",   "events",     "audit",         "logs",
};
constexpr std::array<std::string_view, 4> kSharedTables = {"terms", "leases", "nodes",
                                                           "schedulers"};

// The end of the index of finished executions by task.
constexpr std::string_view kTaskKey1 = " (task_id)";
constexpr std::string_view kTaskKey4 = "_status (task_id, status)";

std::string CreateTable(std::string_view table, const std::string& prefix,
                        const std::string& columns, std::string_view task_key = kTaskKey1) {
    return "CREATE TABLE IF NOT EXISTS " +
           fmt::format(fmt::runtime(table), prefix, columns, task_key) + std::string(kTableOptions);
}

std::string ExecutionColumns2() {
    return fmt::format("{},\n    {}", kExecutionColumns1, fmt::join(kAddedColumns2, ",\n    "));
}

std::string CreateOnceLive(const std::string& prefix) {
    std::string columns = ExecutionColumns2();
    for (const std::string_view type : {"BLOB", "VARCHAR(64)", "VARCHAR(16)"}) {
        const std::string said = std::string(type) + " NOT NULL";
        for (std::size_t at = 0; (at = columns.find(said, at)) != std::string::npos;) {
            columns.replace(at, said.size(), type);
        }
    }
    return CreateTable(kOnceLive, prefix, columns);
}

}  // namespace

std::vector<std::vector<std::string>> Migrations(const std::string& prefix) {
    std::vector<std::string> first;
    for (const std::string_view table : kRows1) {
        first.push_back(CreateTable(table, prefix, std::string(kExecutionColumns1)));
    }
    for (const std::string_view table : kShared1) first.push_back(CreateTable(table, prefix, ""));
    // Added columns take the server no time, however many rows there are.
    std::vector<std::string> second = {CreateTable(kSchedulers, prefix, "")};
    for (const std::string_view table : {"live", "history"}) {
        second.push_back(fmt::format("ALTER TABLE {}{} ADD COLUMN {}", prefix, table,
                                     fmt::join(kAddedColumns2, ", ADD COLUMN ")));
    }
    for (const std::string_view table : kRows2) {
        second.push_back(CreateTable(table, prefix, ExecutionColumns2()));
    }
    // What is live stays where it is: up to a serial that the fence has, or, where the fence is behind,
    // the last that is there. It ends all terms, so that a scheduler of the version before that was
    // frozen meanwhile puts nothing there any more.
    std::vector<std::string> third = {
        CreateOnceLive(std::string(kEach)),
        fmt::format("ALTER TABLE {}terms ADD COLUMN once_after BIGINT NOT NULL DEFAULT 0", prefix),
        fmt::format("UPDATE {}terms SET once_after = last_serial, nonce = 0", prefix),
        fmt::format("UPDATE {0}terms SET once_after = GREATEST(once_after, (SELECT "
                    "IFNULL(MAX(serial), 0) FROM {1}live)) WHERE partition_id = {2}",
                    prefix, kEach, kEachNumber)};
    // The index by task has the status too, which finds what is rare in a task. One statement for each
    // table, which the server does whole or not at all. Terms end, so that a scheduler of the version
    // before that was frozen meanwhile makes no tables of a namespace as they were.
    std::vector<std::string> fourth = {fmt::format("UPDATE {}terms SET nonce = 0", prefix)};
    for (const std::string_view table : {"history", "child_history"}) {
        fourth.push_back(fmt::format("ALTER TABLE {0}{1} ADD KEY {1}_task{2}, DROP KEY {1}_task",
                                     kEach, table, kTaskKey4));
    }
    return {first, second, third, fourth};
}

std::string TablePrefix(const std::string& prefix, Partition partition) {
    return partition == kDefaultPartition ? prefix : fmt::format("{}{}_", prefix, partition);
}

std::string PartitionSql(const std::string& prefix, Partition partition) {
    const std::string own = TablePrefix(prefix, partition);
    std::string sql;
    for (const std::string_view table : kRows1) {
        sql += CreateTable(table, own, ExecutionColumns2(), kTaskKey4) + ";";
    }
    for (const std::string_view table : kRows2) {
        sql += CreateTable(table, own, ExecutionColumns2(), kTaskKey4) + ";";
    }
    return sql + CreateOnceLive(own);
}

void CompleteTables(Connection& connection, const std::string& prefix, Partition partition) {
    if (partition == kDefaultPartition) return;
    const std::string own = TablePrefix(prefix, partition);
    // The first that is made and the first that is dropped leads; a commit makes all if it is not
    // there, behind the fence.
    std::string packet;
    for (const std::string_view table : kRowTables) {
        packet += fmt::format("SELECT 1 FROM {}{} LIMIT 0;", own, table);
    }
    packet.pop_back();
    try {
        connection.Run(packet);
    } catch (const MysqlError& error) {
        if (error.code() != ER_NO_SUCH_TABLE) throw;
        if (error.statement() > 0) connection.Run(PartitionSql(prefix, partition));
    }
}

std::string DropSql(const std::string& prefix, Partition partition) {
    std::string sql = "DROP TABLE IF EXISTS ";
    for (const std::string_view table : kRowTables) {
        if (table != kRowTables.front()) sql += ',';
        sql += TablePrefix(prefix, partition) + std::string(table);
    }
    return sql;
}

void CheckPrivileges(Connection& connection, const MysqlOptions& options) {
    // Privileges are checked before rows are looked for, and these find none.
    std::string statements;
    const auto add = [&](std::string_view table) {
        statements += fmt::format(
            "SELECT 1 FROM {0}{1} LIMIT 0;INSERT INTO {0}{1} SELECT * FROM {0}{1} WHERE 1 = 0;"
            "DELETE FROM {0}{1} WHERE 1 = 0;",
            options.prefix, table);
    };
    for (const std::string_view table : kRowTables) add(table);
    for (const std::string_view table : kSharedTables) add(table);
    for (const std::string_view table : {"live", "once_live"}) {
        statements +=
            fmt::format("UPDATE {}{} SET attempt = 0 WHERE 1 = 0;", options.prefix, table);
    }
    statements.pop_back();
    try {
        connection.Run(statements);
    } catch (const MysqlError& error) {
        // A server that takes no writes now may take them later; commits will say so until then.
        if (error.code() != ER_OPTION_PREVENTS_STATEMENT && error.code() != kReadOnlyMode) throw;
    }
}

}  // namespace takt::internal::mysql
