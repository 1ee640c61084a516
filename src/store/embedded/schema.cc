#include "store/embedded/schema.h"

#include <fmt/core.h>

#include <array>

#include "base/number.h"

namespace takt::internal::embedded {
namespace {

// Of live and history alike.
constexpr std::string_view kExecutionColumns1 = R"(
    serial INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    task_id TEXT,
    task_name TEXT NOT NULL,
    type TEXT NOT NULL,
    queue TEXT NOT NULL,
    priority INTEGER NOT NULL,
    task_version INTEGER NOT NULL,
    timeout_ms INTEGER NOT NULL,
    run_at_ms INTEGER NOT NULL,
    task_created_at_ms INTEGER NOT NULL,
    task_updated_at_ms INTEGER NOT NULL,
    origin TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    scheduled_at_ms INTEGER NOT NULL,
    status TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    losses INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    token BLOB,
    worker TEXT,
    ready_at_ms INTEGER NOT NULL,
    started_at_ms INTEGER NOT NULL,
    finished_at_ms INTEGER NOT NULL,
    outcome BLOB,
    options BLOB,
    task_payload BLOB,
    payload BLOB)";

// An index of SQLite ends with the serial, so each of these is in the order of a list. {0} is the
// prefix of the partition, {1} the columns.
constexpr std::string_view kRows1 = R"(
CREATE TABLE {0}live ({1});
CREATE INDEX {0}live_task ON {0}live (task_id) WHERE task_id IS NOT NULL;

CREATE TABLE {0}history ({1});
CREATE INDEX {0}history_task ON {0}history (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX {0}history_status ON {0}history (status);
CREATE INDEX {0}history_worker ON {0}history (worker) WHERE worker IS NOT NULL;
CREATE INDEX {0}history_finished ON {0}history (finished_at_ms);

CREATE TABLE {0}tasks (
    id TEXT PRIMARY KEY NOT NULL,
    partition INTEGER NOT NULL,
    name TEXT NOT NULL,
    record BLOB NOT NULL);
CREATE TABLE {0}workers (
    partition INTEGER NOT NULL,
    id TEXT NOT NULL,
    record BLOB NOT NULL,
    PRIMARY KEY (partition, id));
CREATE TABLE {0}settings (
    partition INTEGER NOT NULL,
    key TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (partition, key));
CREATE TABLE {0}events (
    serial INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    record BLOB NOT NULL);
CREATE TABLE {0}logs (
    execution TEXT NOT NULL,
    chunk INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    lines BLOB NOT NULL,
    PRIMARY KEY (execution, chunk)) WITHOUT ROWID;
)";
constexpr std::string_view kShared1 = R"(
CREATE TABLE terms (
    partition INTEGER PRIMARY KEY,
    node TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    nonce INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    last_serial INTEGER NOT NULL);
)";

// Added columns and new tables take no time, however many rows there are: none is touched, and no
// index is built over them. So children have tables of their own.
constexpr std::string_view kRows2 = R"(
ALTER TABLE {0}live ADD COLUMN parent TEXT;
ALTER TABLE {0}live ADD COLUMN step BLOB;
ALTER TABLE {0}live ADD COLUMN shard_index INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {0}live ADD COLUMN shard_total INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {0}live ADD COLUMN round INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {0}live ADD COLUMN progress BLOB;
ALTER TABLE {0}history ADD COLUMN parent TEXT;
ALTER TABLE {0}history ADD COLUMN step BLOB;
ALTER TABLE {0}history ADD COLUMN shard_index INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {0}history ADD COLUMN shard_total INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {0}history ADD COLUMN round INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {0}history ADD COLUMN progress BLOB;

CREATE TABLE {0}child_live ({1},
    parent TEXT NOT NULL,
    step BLOB,
    shard_index INTEGER NOT NULL,
    shard_total INTEGER NOT NULL,
    round INTEGER NOT NULL,
    progress BLOB);
CREATE INDEX {0}child_live_parent ON {0}child_live (parent);
CREATE INDEX {0}child_live_task ON {0}child_live (task_id) WHERE task_id IS NOT NULL;
CREATE TABLE {0}child_history ({1},
    parent TEXT NOT NULL,
    step BLOB,
    shard_index INTEGER NOT NULL,
    shard_total INTEGER NOT NULL,
    round INTEGER NOT NULL,
    progress BLOB);
CREATE INDEX {0}child_history_parent ON {0}child_history (parent);
CREATE INDEX {0}child_history_task ON {0}child_history (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX {0}child_history_status ON {0}child_history (status);
CREATE INDEX {0}child_history_worker ON {0}child_history (worker) WHERE worker IS NOT NULL;

CREATE TABLE {0}records (
    kind INTEGER NOT NULL,
    key BLOB NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (kind, key));
CREATE TABLE {0}audit (
    serial INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    body BLOB NOT NULL);
)";

std::string RowsSql(std::string_view step, Partition partition) {
    return fmt::format(fmt::runtime(step), TablePrefix(partition), kExecutionColumns1);
}

}  // namespace

std::span<const std::string> Migrations() {
    static const std::array<std::string, 2> kMigrations = {
        RowsSql(kRows1, kDefaultPartition) + std::string(kShared1),
        RowsSql(kRows2, kDefaultPartition),
    };
    return kMigrations;
}

std::string TablePrefix(Partition partition) {
    return partition == kDefaultPartition ? std::string() : fmt::format("p{}_", partition);
}

Partition PartitionOfTable(std::string_view table) {
    if (!table.starts_with('p')) return kDefaultPartition;
    const auto number = ParseNumber<Partition>(table.substr(1, table.find('_') - 1));
    return number.value_or(kDefaultPartition);
}

std::string PartitionSql(Partition partition) {
    return RowsSql(kRows1, partition) + RowsSql(kRows2, partition);
}

std::vector<std::string> PartitionTables(Partition partition) {
    std::vector<std::string> names;
    for (const char* name : {"live", "history", "child_live", "child_history", "tasks", "workers",
                             "settings", "records", "events", "audit", "logs"}) {
        names.push_back(TablePrefix(partition) + name);
    }
    return names;
}

Result<void> Migrate(Connection& connection, const std::string& path,
                     std::span<const std::string> migrations) {
    const auto newest = static_cast<std::int64_t>(migrations.size());
    std::int64_t version = connection.QueryInt("PRAGMA user_version");
    if (version > newest) {
        return Fail(ErrorCode::kInvalid,
                    fmt::format("{} was written by a newer Takt (schema {}, this one knows {}); "
                                "start that version again or choose another --store",
                                path, version, newest));
    }
    for (; version < newest; ++version) {
        connection.Run("BEGIN IMMEDIATE");
        try {
            connection.Run(migrations[static_cast<std::size_t>(version)]);
            connection.Run(fmt::format("PRAGMA user_version = {}", version + 1));
            connection.Run("COMMIT");
        } catch (const SqliteError&) {
            if (connection.in_transaction()) connection.Run("ROLLBACK");
            throw;
        }
    }
    return {};
}

}  // namespace takt::internal::embedded
