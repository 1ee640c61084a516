#include "store/embedded/salvage.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>

#include "store/embedded/database_file.h"
#include "store/embedded/lock_file.h"
#include "store/embedded/private_files.h"
#include "store/embedded/schema.h"

namespace takt::internal {
namespace embedded {
namespace {

namespace fs = std::filesystem;

// Enough to see what it is about.
constexpr int kDamageLinesMax = 20;
// More than a file has pages that anybody would want to keep.
constexpr std::uint64_t kGapsMax = 100'000;

using RowId = std::int64_t;
constexpr RowId kFirst = std::numeric_limits<RowId>::min();
constexpr RowId kLast = std::numeric_limits<RowId>::max();

// Takes one table from a damaged file to one that has the same table, empty. A page that cannot be
// read ends a walk through the table; a search for a row beyond it comes to that row by other pages.
// So it walks, and after each gap searches for where it can go on.
class TableSalvage {
  public:
    TableSalvage(Connection& from, Connection& to, std::string table)
        : from_(from), to_(to), table_(std::move(table)) {}

    SalvagedTable Run() {
        if (HasRowIds()) {
            WalkAll(true);
            // A damaged row may have led astray; from the other end it does not.
            if (gaps_ > 0) WalkAll(false);
            // Between damaged ends neither finds a way; an index knows where rows are.
            if (gaps_ > 0) WalkIndex();
        } else if (RowId end = 0; !Walk(end, true, "execution", "chunk")) {
            ++gaps_;
            Walk(end, false, "execution", "chunk");
        }
        const auto rows = to_.QueryInt("SELECT count(*) FROM " + table_);
        return {table_, static_cast<std::uint64_t>(rows), gaps_};
    }

  private:
    bool HasRowIds() {
        return to_.QueryInt(fmt::format("SELECT count(*) FROM sqlite_schema WHERE name = '{}' AND "
                                        "sql LIKE '%WITHOUT ROWID%'",
                                        table_)) == 0;
    }

    static void ThrowUnlessDamage(const SqliteError& error) {
        if (error.code() != SQLITE_CORRUPT && error.code() != SQLITE_NOTADB) throw error;
    }

    // A row as it is; one that contradicts another, or itself, is left out.
    void Put(const Row& row, int first_column, bool forward) {
        const int columns = row.count();
        if (!put_) {
            std::string marks = "?";
            for (int i = first_column + 1; i < columns; ++i) marks += ", ?";
            put_ = to_.Prepare(fmt::format("INSERT OR IGNORE INTO {} VALUES ({})", table_, marks));
        }
        for (int i = first_column; i < columns; ++i) put_->Value(row.Value(i));
        put_->Run();
        // On the way back most are there already.
        if (forward && to_.changes() == 0) ++gaps_;
    }

    // From `at` on, which it moves behind the last row that it read; whether it came to the end.
    // A table without row ids is walked by its keys, from an end.
    bool Walk(RowId& at, bool forward, const char* key = "rowid", const char* second = nullptr) {
        const char* order = forward ? "ASC" : "DESC";
        Statement rows = from_.Prepare(
            second ? fmt::format("SELECT * FROM {} ORDER BY {} {}, {} {}", table_, key, order,
                                 second, order)
                   : fmt::format("SELECT rowid, * FROM {} NOT INDEXED WHERE rowid {} ?1 ORDER BY "
                                 "rowid {}",
                                 table_, forward ? ">=" : "<=", order));
        if (!second) rows.Int(at);
        try {
            while (rows.Step()) {
                Put(rows.row(), second ? 0 : 1, forward);
                if (second) continue;
                const RowId row = rows.row().Int(0);
                if (row == (forward ? kLast : kFirst)) return true;
                at = forward ? std::max(at, row + 1) : std::min(at, row - 1);
            }
            return true;
        } catch (const SqliteError& error) {
            ThrowUnlessDamage(error);
            return false;
        }
    }

    enum class Seen : std::uint8_t { kRow, kEnd, kDamage };

    // The first row from there on, whose other columns may be damaged.
    Seen LookAt(RowId at, bool forward, RowId* found = nullptr) {
        Statement row = from_.Prepare(fmt::format(
            "SELECT rowid FROM {} NOT INDEXED WHERE rowid {} ?1 ORDER BY rowid {} LIMIT 1", table_,
            forward ? ">=" : "<=", forward ? "ASC" : "DESC"));
        row.Int(at);
        try {
            if (!row.Step()) return Seen::kEnd;
            if (found) *found = row.row().Int(0);
            return Seen::kRow;
        } catch (const SqliteError& error) {
            ThrowUnlessDamage(error);
            return Seen::kDamage;
        }
    }

    // The nearest place behind `at` from which the table can be read; nothing if there is none.
    std::optional<RowId> Beyond(RowId at, bool forward) {
        const auto room = forward ? std::uint64_t(kLast) - std::uint64_t(at)
                                  : std::uint64_t(at) - std::uint64_t(kFirst);
        const auto place = [&](std::uint64_t step) {
            return static_cast<RowId>(forward ? std::uint64_t(at) + step
                                              : std::uint64_t(at) - step);
        };
        // The row at which the walk ended is there, and only its content cannot be read.
        if (RowId row = 0; LookAt(at, forward, &row) == Seen::kRow) {
            if (row == (forward ? kLast : kFirst)) return std::nullopt;
            return forward ? std::max(at, row) + 1 : std::min(at, row) - 1;
        }
        std::uint64_t near = 0;  // Cannot be read from.
        std::uint64_t far = std::min<std::uint64_t>(1, room);
        while (LookAt(place(far), forward) == Seen::kDamage) {
            if (far == room) return std::nullopt;
            near = far;
            far = far > room / 2 ? room : far * 2;
        }
        while (far - near > 1) {
            const std::uint64_t middle = near + (far - near) / 2;
            (LookAt(place(middle), forward) == Seen::kDamage ? near : far) = middle;
        }
        if (LookAt(place(far), forward) == Seen::kEnd) return std::nullopt;
        return place(far);
    }

    void WalkAll(bool forward) {
        RowId at = forward ? kFirst : kLast;
        for (std::uint64_t gaps = 0; gaps < kGapsMax && !Walk(at, forward); ++gaps) {
            if (forward) ++gaps_;
            const auto next = Beyond(at, forward);
            if (!next) return;
            at = *next;
        }
    }

    // By the index that each id or key has; a table without one has no other way in.
    void WalkIndex() {
        try {
            Statement ids = from_.Prepare(
                fmt::format("SELECT rowid FROM {0} INDEXED BY sqlite_autoindex_{0}_1", table_));
            while (ids.Step()) TakeRow(ids.row().Int(0));
        } catch (const SqliteError& error) {
            if (error.code() != SQLITE_ERROR) ThrowUnlessDamage(error);
        }
    }

    void TakeRow(RowId id) {
        Statement row = from_.Prepare(
            fmt::format("SELECT rowid, * FROM {} NOT INDEXED WHERE rowid = ?1", table_));
        row.Int(id);
        try {
            if (row.Step()) Put(row.row(), 1, false);
        } catch (const SqliteError& error) {
            ThrowUnlessDamage(error);
        }
    }

    Connection& from_;
    Connection& to_;
    const std::string table_;
    std::optional<Statement> put_;
    std::uint64_t gaps_ = 0;
};

struct SchemaPart {
    std::string name;
    std::string sql;
};

std::vector<SchemaPart> SchemaOf(Connection& connection, const char* kind) {
    std::vector<SchemaPart> parts;
    Statement rows = connection.Prepare(
        fmt::format("SELECT name, sql FROM sqlite_schema WHERE type = '{}' AND sql IS NOT "
                    "NULL AND name NOT LIKE 'sqlite_%'",
                    kind));
    while (rows.Step()) {
        parts.push_back({std::string(rows.row().Bytes(0)), std::string(rows.row().Bytes(1))});
    }
    return parts;
}

// A name that nothing has yet.
std::string FreeName(const std::string& wish) {
    std::string name = wish;
    for (int i = 2; fs::exists(name); ++i) name = wish + "-" + std::to_string(i);
    return name;
}

// Writes the draft; throws SqliteError.
std::vector<SalvagedTable> WriteDraft(const EmbeddedOptions& options, const std::string& draft) {
    Connection damaged(DatabasePath(options), SQLITE_OPEN_READWRITE, options.vfs);
    const auto tables = SchemaOf(damaged, "table");
    const auto indexes = SchemaOf(damaged, "index");
    const std::int64_t version = damaged.QueryInt("PRAGMA user_version");
    Connection fresh(draft, SQLITE_OPEN_READWRITE, options.vfs);
    fresh.Run("PRAGMA page_size = 8192");
    fresh.Run("PRAGMA synchronous = FULL");
    fresh.Run("BEGIN");
    for (const SchemaPart& table : tables) fresh.Run(table.sql);
    std::vector<SalvagedTable> salvaged;
    for (const SchemaPart& table : tables) {
        salvaged.push_back(TableSalvage(damaged, fresh, table.name).Run());
    }
    for (const SchemaPart& index : indexes) fresh.Run(index.sql);
    fresh.Run("COMMIT");
    fresh.Run(fmt::format("PRAGMA application_id = {}", kApplicationId));
    fresh.Run(fmt::format("PRAGMA user_version = {}", version));
    fresh.QueryText("PRAGMA journal_mode = WAL");
    return salvaged;
}

// At each moment either the old file or the new one is there: a store that finds none begins an empty
// one. The old log goes before the new file comes, which would take it for its own.
Result<std::string> PutInPlace(const std::string& path, const std::string& draft) {
    const std::string kept = FreeName(path + ".damaged");
    std::error_code error;
    for (const char* end : {"", "-wal"}) {
        if (error || !fs::exists(path + end, error)) continue;
        fs::create_hard_link(path + end, kept + end, error);
    }
    if (!error) fs::remove(path + "-wal", error);
    std::error_code ignored;  // Without its log it says nothing.
    fs::remove(path + "-shm", ignored);
    if (!error) fs::rename(draft, path, error);
    if (error) {
        return Fail(ErrorCode::kInvalid, fmt::format("cannot put {} in the place of {}: {}", draft,
                                                     path, error.message()));
    }
    const auto synced = SyncDirectory(fs::path(path).parent_path().string());
    if (!synced) return std::unexpected(synced.error());
    return kept;
}

Result<LockFile> LockStore(const EmbeddedOptions& options) {
    if (!fs::exists(DatabasePath(options))) {
        return Fail(ErrorCode::kNotFound, "there is no store in " + options.directory);
    }
    return LockFile::Take(options.directory);
}

}  // namespace
}  // namespace embedded

Result<std::vector<std::string>> DamageOfEmbedded(const EmbeddedOptions& options) {
    using namespace embedded;
    const auto lock = LockStore(options);
    if (!lock) return std::unexpected(lock.error());
    std::vector<std::string> lines;
    try {
        Connection connection(DatabasePath(options), SQLITE_OPEN_READWRITE, options.vfs);
        Statement rows =
            connection.Prepare(fmt::format("PRAGMA integrity_check({})", kDamageLinesMax));
        while (rows.Step()) {
            std::string_view text = rows.row().Bytes(0);
            for (std::size_t end = 0; !text.empty(); text.remove_prefix(end)) {
                end = std::min(text.find('\n'), text.size());
                const std::string_view line = text.substr(0, end);
                if (line != "ok" && !line.starts_with("***")) lines.emplace_back(line);
                end = std::min(end + 1, text.size());
            }
        }
    } catch (const SqliteError& error) {
        lines.emplace_back(error.what());
    }
    return lines;
}

Result<Salvaged> SalvageEmbedded(const EmbeddedOptions& options) {
    using namespace embedded;
    const auto lock = LockStore(options);
    if (!lock) return std::unexpected(lock.error());
    const std::string path = DatabasePath(options);
    const std::string draft = path + ".repaired";
    std::error_code ignored;  // If it cannot be removed, it cannot be written either.
    fs::remove(draft, ignored);
    if (auto made = MakePrivateFile(draft); !made) return std::unexpected(made.error());
    Salvaged salvaged;
    try {
        salvaged.tables = WriteDraft(options, draft);
    } catch (const SqliteError& error) {
        fs::remove(draft, ignored);
        return Fail(ErrorCode::kInvalid,
                    fmt::format("{} cannot be made anew ({}); nothing was changed. Restore it from "
                                "a backup",
                                path, error.what()));
    }
    auto kept = PutInPlace(path, draft);
    if (!kept) return std::unexpected(kept.error());
    salvaged.kept = std::move(*kept);
    return salvaged;
}

}  // namespace takt::internal
