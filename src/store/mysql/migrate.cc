// Brings the tables of a database to the version that schema.cc describes.
#include <fmt/format.h>
#include <mysqld_error.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/time.h"
#include "store/mysql/schema.h"
#include "store/mysql/values.h"

namespace takt::internal::mysql {
namespace {

std::size_t ReadVersion(Connection& connection, const std::string& prefix) {
    Rows row =
        connection.Query(fmt::format("SELECT version FROM {}schema WHERE only_row = 1", prefix));
    return row.Next() ? static_cast<std::size_t>(row.Int(0)) : 0;
}

std::string UnmarkSql(const std::string& prefix) {
    return fmt::format("DELETE FROM {}schema WHERE only_row = 2", prefix);
}

// Keeps others from being elected, unless a scheduler of the version before is announced: then it says
// which, and the migration must wait.
std::optional<std::string> MarkMigration(Connection& connection, const std::string& prefix,
                                         std::size_t version, std::size_t target) {
    connection.Run(
        fmt::format("REPLACE INTO {}schema (only_row, version) VALUES (2, {})", prefix, target));
    // An election that has read the version holds that row until its term has begun, and only then is
    // it seen below. (With READ COMMITTED it does not keep another row out.)
    try {
        connection.Run(
            fmt::format("UPDATE {}schema SET version = version WHERE only_row = 1", prefix));
    } catch (const MysqlError& error) {
        if (!error.lost()) connection.Run(UnmarkSql(prefix));
        throw;
    }
    std::string query = fmt::format(
        "SELECT node FROM {0}leases WHERE nonce <> 0 AND expires > UTC_TIMESTAMP(3) UNION "
        "SELECT node FROM {0}nodes WHERE expires > UTC_TIMESTAMP(3)",
        prefix);
    if (version >= kVersionOfSchedulers) {
        query += fmt::format(
            " UNION SELECT node FROM {}schedulers WHERE expires > UTC_TIMESTAMP(3)", prefix);
    }
    Rows older = connection.Query(query + " LIMIT 1");
    if (!older.Next()) return std::nullopt;
    return std::string(older.Bytes(0));
}

// The partitions that have been led and whose tables are there.
std::vector<Partition> PartitionsThere(Connection& connection, const std::string& prefix) {
    std::vector<Partition> there = {kDefaultPartition};
    Rows rows = connection.Query(fmt::format(
        "SELECT partition_id FROM {}terms WHERE partition_id <> {}", prefix, kDefaultPartition));
    while (rows.Next()) {
        const auto partition = static_cast<Partition>(rows.Int(0));
        try {
            connection.Run(
                fmt::format("SELECT 1 FROM {}live LIMIT 0", TablePrefix(prefix, partition)));
            there.push_back(partition);
        } catch (const MysqlError& error) {
            if (error.code() != ER_NO_SUCH_TABLE) throw;
        }
    }
    return there;
}

// The answers to a statement that a step which stopped half way has done already. (A server drops one
// index and adds the other, or does neither.)
bool IsDone(const MysqlError& error) {
    return error.code() == ER_DUP_FIELDNAME || error.code() == ER_DUP_KEYNAME ||
           error.code() == ER_CANT_DROP_FIELD_OR_KEY;
}

// Of a partition some tables may be missing: they are made when it is used, as they are then.
bool IsLeftOut(const MysqlError& error, Partition partition) {
    return partition != kDefaultPartition && error.code() == ER_NO_SUCH_TABLE;
}

// How far the server says that it is, in percent, or that it does not say.
std::string Progress(Connection& connection, std::uint64_t session) {
    try {
        Rows row = connection.Query(fmt::format(
            "SELECT progress FROM information_schema.processlist WHERE id = {}", session));
        if (row.Next()) return std::string(row.Bytes(0));
    } catch (const MysqlError&) {  // MySQL has no such column, and no such table since 9.0.
    }
    return {};
}

// Runs the statements of steps. Those that go through all rows take longer than any other call may, so
// they have a connection of their own; `watching` sees how far they are, and holds the lock.
class Steps {
  public:
    Steps(Connection& watching, const MysqlOptions& options)
        : watching_(watching), prefix_(options.prefix), connection_(options, kPatience) {
        // Not those of the server, which are for queries, and for who may wait behind others.
        connection_.Run(
            fmt::format("SET SESSION lock_wait_timeout = {0}, innodb_lock_wait_timeout = {0} "
                        "/*M!, max_statement_time = 0 */",
                        std::max<std::int64_t>(1, options.timeout.count() / 2)));
        Rows row = connection_.Query("SELECT CONNECTION_ID()");
        if (row.Next()) session_ = row.Unsigned(0);
    }

    void Run(const std::string& statement) {
        const std::size_t each = statement.find(kEach);
        if (each == std::string::npos) return RunOne(statement, kDefaultPartition);
        for (const Partition partition : PartitionsThere(connection_, prefix_)) {
            std::string own = statement;
            own.replace(each, kEach.size(), TablePrefix(prefix_, partition));
            const std::size_t number = own.find(kEachNumber);
            if (number != std::string::npos) {
                own.replace(number, kEachNumber.size(), std::to_string(partition));
            }
            RunOne(own, partition);
        }
    }

  private:
    // The longest of which a client can be told.
    static constexpr std::chrono::hours kPatience{24};
    static constexpr std::chrono::seconds kPause{10};

    void RunOne(const std::string& statement, Partition partition) {
        const Steady begin = SteadyClock::now();
        auto done = std::async(std::launch::async, [&] { connection_.Run(statement); });
        bool told = false;
        const auto tell = [&](std::string_view what, const std::string& percent) {
            const auto passed = std::chrono::ceil<std::chrono::seconds>(SteadyClock::now() - begin);
            Log(LogLevel::kInfo, "store", what,
                {{"statement", statement}, {"seconds", passed.count()}, {"percent", percent}});
        };
        while (done.wait_for(kPause) != std::future_status::ready) {
            told = true;
            tell("the tables are still being changed", Progress(watching_, session_));
        }
        try {
            done.get();
        } catch (const MysqlError& error) {
            if (!IsDone(error) && !IsLeftOut(error, partition)) throw;
        }
        if (told) tell("the tables were changed", "100");
    }

    Connection& watching_;
    const std::string& prefix_;
    Connection connection_;
    std::uint64_t session_ = 0;
};

}  // namespace

Result<void> Migrate(Connection& connection, const MysqlOptions& options,
                     std::span<const std::vector<std::string>> migrations) {
    const std::string& prefix = options.prefix;
    // A schema that is up to date is only read: the user need not be allowed to change it.
    std::size_t version = 0;
    try {
        version = ReadVersion(connection, prefix);
    } catch (const MysqlError& error) {
        if (error.code() != ER_NO_SUCH_TABLE) throw;
    }
    if (version > migrations.size()) {
        return Fail(ErrorCode::kInvalid,
                    fmt::format("the tables of {} are of a newer Takt (schema {}, this one knows "
                                "{}); start that version again or choose another prefix",
                                Describe(options), version, migrations.size()),
                    "store");
    }
    if (version == migrations.size()) return {};

    // One scheduler at a time; those that wait find the work done.
    const std::string lock = TextLiteral("takt:schema:" + options.database.substr(0, 40));
    Rows got = connection.Query(
        fmt::format("SELECT GET_LOCK({}, {})", lock, options.timeout.count() / 2 + 1));
    if (!got.Next() || got.Int(0) != 1) {
        return Fail(
            ErrorCode::kUnavailable,
            "another scheduler is still creating or changing the tables of " + Describe(options));
    }
    // Statements that wait for longer than we do must not stand in the way of the schedulers that are
    // there.
    connection.Run(
        fmt::format("SET SESSION lock_wait_timeout = {0}, innodb_lock_wait_timeout = {0}",
                    std::max<std::int64_t>(1, options.timeout.count() / 2)));
    connection.Run(
        fmt::format("CREATE TABLE IF NOT EXISTS {}schema (only_row TINYINT NOT NULL "
                    "PRIMARY KEY, version INT UNSIGNED NOT NULL){}",
                    prefix, kTableOptions));
    version = ReadVersion(connection, prefix);
    std::optional<std::string> older;
    if (version > 0 && version < migrations.size()) {
        // Who may not change tables is told before the mark, which keeps the version before out; by a
        // table that no election waits for.
        connection.Run(fmt::format("ALTER TABLE {}nodes COMMENT = ''", prefix));
        older = MarkMigration(connection, prefix, version, migrations.size());
    }
    std::optional<Steps> steps;
    const bool rows = version > 0;  // Else the tables are made just now.
    if (!older && version < migrations.size()) steps.emplace(connection, options);
    for (; steps && version < migrations.size(); ++version) {
        if (rows) {
            Log(LogLevel::kInfo, "store", "raising the schema of the tables",
                {{"from", std::uint64_t{version}}, {"to", std::uint64_t{version + 1}}});
        }
        for (const std::string& statement : migrations[version]) steps->Run(statement);
        connection.Run(fmt::format("REPLACE INTO {}schema (only_row, version) VALUES (1, {})",
                                   prefix, version + 1));
    }
    connection.Run(fmt::format("{};SELECT RELEASE_LOCK({})", UnmarkSql(prefix), lock));
    if (older) {
        return Fail(
            ErrorCode::kUnavailable,
            fmt::format("the tables of {} are of an older Takt (schema {}, this one needs "
                        "{}), and {} of that version is there; stop the old schedulers, the "
                        "tables follow when the last is gone",
                        Describe(options), version, migrations.size(), *older));
    }
    return {};
}

}  // namespace takt::internal::mysql
