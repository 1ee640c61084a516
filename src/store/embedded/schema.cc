#include "store/embedded/schema.h"

#include <fmt/core.h>

#include <array>
#include <chrono>
#include <optional>
#include <set>

#include "base/log.h"
#include "base/number.h"
#include "base/time.h"

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

// The index by task has the status too: what is rare in a task that runs often is found at once. It is
// built over all that is there, unlike those of the steps before.
constexpr std::string_view kRows3 = R"(
CREATE INDEX {0}history_task_status ON {0}history (task_id, status) WHERE task_id IS NOT NULL;
DROP INDEX {0}history_task;
CREATE INDEX {0}child_history_task_status ON {0}child_history (task_id, status)
    WHERE task_id IS NOT NULL;
DROP INDEX {0}child_history_task;
)";

std::string RowsSql(std::string_view step, std::string_view prefix) {
    return fmt::format(fmt::runtime(step), prefix, kExecutionColumns1);
}

// In a step, the prefix of each partition that has tables: it is run for one after the other.
constexpr std::string_view kEach = "<each>";

std::set<Partition> PartitionsThere(Connection& connection) {
    std::set<Partition> there = {kDefaultPartition};
    Statement tables = connection.Prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'p[0-9]*_live'");
    while (tables.Step()) there.insert(PartitionOfTable(tables.row().Bytes(0)));
    return there;
}

// Tells the log that a step is done, and from time to time that it is not yet.
class StepLog {
  public:
    StepLog(Connection& connection, const std::string& path, std::int64_t version)
        : connection_(connection), path_(path), version_(version) {
        const std::int64_t bytes =
            connection.QueryInt("PRAGMA page_count") * connection.QueryInt("PRAGMA page_size");
        Log(LogLevel::kInfo, "store", "raising the schema of the database",
            {{"file", path_}, {"from", version_}, {"to", version_ + 1}, {"bytes", bytes}});
        sqlite3_progress_handler(
            connection_.get(), kInstructionsPerLook,
            [](void* self) {
                static_cast<StepLog*>(self)->Look();
                return 0;
            },
            this);
    }
    ~StepLog() { sqlite3_progress_handler(connection_.get(), 0, nullptr, nullptr); }
    StepLog(const StepLog&) = delete;
    StepLog& operator=(const StepLog&) = delete;

    void NoteDone() const { Tell("the schema of the database was raised"); }

  private:
    static constexpr int kInstructionsPerLook = 1'000'000;
    static constexpr std::chrono::seconds kPause{10};

    void Look() {
        if (SteadyClock::now() - told_ < kPause) return;
        told_ = SteadyClock::now();
        Tell("still raising the schema of the database");
    }
    void Tell(std::string_view what) const {
        const auto passed = std::chrono::ceil<std::chrono::seconds>(SteadyClock::now() - begin_);
        Log(LogLevel::kInfo, "store", what,
            {{"file", path_}, {"to", version_ + 1}, {"seconds", passed.count()}});
    }

    Connection& connection_;
    const std::string& path_;
    const std::int64_t version_;
    const Steady begin_ = SteadyClock::now();
    Steady told_ = begin_;
};

void RunStep(Connection& connection, const std::string& step, std::int64_t to) {
    connection.Run("BEGIN IMMEDIATE");
    try {
        if (step.find(kEach) == std::string::npos) {
            connection.Run(step);
        } else {
            for (const Partition partition : PartitionsThere(connection)) {
                connection.Run(StepSql(step, partition));
            }
        }
        connection.Run(fmt::format("PRAGMA user_version = {}", to));
        connection.Run("COMMIT");
    } catch (const SqliteError&) {
        if (connection.in_transaction()) connection.Run("ROLLBACK");
        throw;
    }
}

}  // namespace

std::span<const std::string> Migrations() {
    static const std::array<std::string, 3> kMigrations = {
        RowsSql(kRows1, "") + std::string(kShared1),
        RowsSql(kRows2, ""),
        RowsSql(kRows3, kEach),
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
    std::string sql;
    for (const std::string_view step : {kRows1, kRows2, kRows3}) {
        sql += RowsSql(step, TablePrefix(partition));
    }
    return sql;
}

std::string StepSql(const std::string& step, Partition partition) {
    std::string sql = step;
    const std::string prefix = TablePrefix(partition);
    for (std::size_t at = 0; (at = sql.find(kEach, at)) != std::string::npos;) {
        sql.replace(at, kEach.size(), prefix);
    }
    return sql;
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
    const bool rows = version > 0;  // Else it is made just now.
    for (; version < newest; ++version) {
        const std::string& step = migrations[static_cast<std::size_t>(version)];
        std::optional<StepLog> log;
        if (rows) log.emplace(connection, path, version);
        RunStep(connection, step, version + 1);
        if (log) log->NoteDone();
    }
    return {};
}

}  // namespace takt::internal::embedded
