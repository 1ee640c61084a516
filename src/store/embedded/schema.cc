#include "store/embedded/schema.h"

#include <fmt/core.h>

#include <array>

namespace takt::internal::embedded {
namespace {

// Of live and history alike; the order is that of sql::kExecutionColumns.
constexpr std::string_view kExecutionColumnsV1 = R"(
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

// An index of SQLite ends with the serial, so each of these is in the order of a list.
constexpr std::string_view kVersion1 = R"(
CREATE TABLE live ({0});
CREATE INDEX live_task ON live (task_id) WHERE task_id IS NOT NULL;

CREATE TABLE history ({0});
CREATE INDEX history_task ON history (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX history_status ON history (status);
CREATE INDEX history_worker ON history (worker) WHERE worker IS NOT NULL;
CREATE INDEX history_finished ON history (finished_at_ms);

CREATE TABLE tasks (
    id TEXT PRIMARY KEY NOT NULL,
    partition INTEGER NOT NULL,
    name TEXT NOT NULL,
    record BLOB NOT NULL);
CREATE TABLE workers (
    partition INTEGER NOT NULL,
    id TEXT NOT NULL,
    record BLOB NOT NULL,
    PRIMARY KEY (partition, id));
CREATE TABLE settings (
    partition INTEGER NOT NULL,
    key TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (partition, key));
CREATE TABLE events (
    serial INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    record BLOB NOT NULL);
CREATE TABLE logs (
    execution TEXT NOT NULL,
    chunk INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    lines BLOB NOT NULL,
    PRIMARY KEY (execution, chunk)) WITHOUT ROWID;
CREATE TABLE terms (
    partition INTEGER PRIMARY KEY,
    node TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    nonce INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    last_serial INTEGER NOT NULL);
)";

}  // namespace

std::span<const std::string> Migrations() {
    static const std::array<std::string, 1> kMigrations = {
        fmt::format(fmt::runtime(kVersion1), kExecutionColumnsV1),
    };
    return kMigrations;
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
