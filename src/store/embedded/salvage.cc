#include "store/embedded/salvage.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>

#include "store/embedded/database_file.h"
#include "store/embedded/full_disk.h"
#include "store/embedded/lock_file.h"
#include "store/embedded/page_file.h"
#include "store/embedded/private_files.h"
#include "store/embedded/schema.h"
#include "store/embedded/stray_rows.h"
#include "store/embedded/table_salvage.h"

namespace takt::internal {
namespace embedded {
namespace {

namespace fs = std::filesystem;

// Enough to see what it is about.
constexpr int kDamageLinesMax = 5;
struct SchemaPart {
    std::string name;
    std::string sql;
};

// The tables and indexes that the file lists.
struct FileSchema {
    std::vector<SchemaPart> tables;
    std::vector<SchemaPart> indexes;
    bool cut = false;  // Not all of the list could be read.
};

FileSchema ReadSchema(Connection& connection) {
    FileSchema schema;
    Statement rows = connection.Prepare(
        "SELECT type, name, sql FROM sqlite_schema WHERE type IN ('table', 'index') AND sql IS NOT "
        "NULL AND name NOT LIKE 'sqlite_%'");
    try {
        while (rows.Step()) {
            auto& parts = rows.row().Bytes(0) == "table" ? schema.tables : schema.indexes;
            parts.push_back({std::string(rows.row().Bytes(1)), std::string(rows.row().Bytes(2))});
        }
    } catch (const SqliteError& error) {
        if (!error.is_damage() || schema.tables.empty()) throw;
        schema.cut = true;
    }
    return schema;
}

// A name that nothing has yet.
std::string FreeName(const std::string& wish) {
    std::string name = wish;
    for (int i = 2; fs::exists(name); ++i) name = wish + "-" + std::to_string(i);
    return name;
}

// A file for a while.
class ScratchCopy {
  public:
    explicit ScratchCopy(std::string path) : path_(std::move(path)) {
        Remove();
        if (auto made = MakePrivateFile(path_); !made) {
            throw SqliteError(SQLITE_CANTOPEN, made.error().detail);
        }
    }
    ~ScratchCopy() { Remove(); }
    ScratchCopy(const ScratchCopy&) = delete;
    ScratchCopy& operator=(const ScratchCopy&) = delete;

    const std::string& path() const { return path_; }

  private:
    void Remove() const {
        std::error_code ignored;  // If one is left it cannot be made anew either, and that is said.
        for (const char* end : {"", "-wal", "-shm", "-journal"}) fs::remove(path_ + end, ignored);
    }
    const std::string path_;
};

// A connection that reads what there is of a file that is shorter than it should be, or whose list of
// tables names pages that are gone.
Connection OpenDamaged(const EmbeddedOptions& options) {
    Connection damaged(DatabasePath(options), SQLITE_OPEN_READWRITE, options.vfs);
    damaged.Run("PRAGMA writable_schema = ON");
    return damaged;
}

// Makes the tables of the new file, and says which there are. A list with gaps is made whole: each
// partition that it still names has all its tables.
std::vector<std::string> MakeTables(Connection& fresh, const FileSchema& schema) {
    std::vector<std::string> names;
    if (!schema.cut) {
        for (const SchemaPart& table : schema.tables) {
            fresh.Run(table.sql);
            names.push_back(table.name);
        }
        return names;
    }
    for (const std::string& step : Migrations()) fresh.Run(StepSql(step, kDefaultPartition));
    std::set<Partition> partitions = {kDefaultPartition};
    for (const SchemaPart& table : schema.tables) partitions.insert(PartitionOfTable(table.name));
    for (const Partition partition : partitions) {
        if (partition != kDefaultPartition) fresh.Run(PartitionSql(partition));
        std::ranges::move(PartitionTables(partition), std::back_inserter(names));
    }
    names.emplace_back("terms");
    return names;
}

// Row counts of the new file, and gaps of the old one.
std::vector<SalvagedTable> CountRows(Connection& fresh,
                                     const std::map<std::string, std::uint64_t>& gaps) {
    std::vector<SalvagedTable> tables;
    Statement names = fresh.Prepare("SELECT name FROM sqlite_schema WHERE type = 'table'");
    while (names.Step()) {
        const std::string name(names.row().Bytes(0));
        const Partition partition = PartitionOfTable(name);
        const auto found = gaps.find(name);
        tables.push_back(
            {.name = name.substr(TablePrefix(partition).size()),
             .partition = partition,
             .rows = static_cast<std::uint64_t>(fresh.QueryInt("SELECT count(*) FROM " + name)),
             // Tables whose names were lost too have at least that one.
             .gaps = found == gaps.end() ? 1 : found->second});
    }
    return tables;
}

// Whether the log is still beside the file once nobody has it open. A file that is cut off does not
// take it in, so that its pages are older than what the trees have shown.
bool LogIsLeft(const std::string& path) {
    std::error_code error;
    const auto size = fs::file_size(path + "-wal", error);
    return !error && size > 0;
}

// Makes a copy in which each page is as the log has it, and those that are gone are empty; false if a
// page cannot be read. Throws SqliteError if the copy cannot be written.
bool CopyWithLog(const EmbeddedOptions& options, const std::string& copy) {
    const Connection from = OpenDamaged(options);
    Connection to(copy, SQLITE_OPEN_READWRITE, options.vfs);
    to.Run("PRAGMA synchronous = OFF");
    sqlite3_backup* pages = sqlite3_backup_init(to.get(), "main", from.get(), "main");
    if (!pages) throw SqliteError(to.get());
    const int stepped = sqlite3_backup_step(pages, -1);
    sqlite3_backup_finish(pages);
    if (stepped == SQLITE_DONE) return true;
    const SqliteError error(stepped, sqlite3_errstr(stepped));
    if (!error.is_damage()) throw error;
    return false;
}

// Rows that the walks did not come to.
void TakeStrays(Connection& fresh, const std::string& path, StrayOptions strays,
                Salvaged& salvaged) {
    auto file = PageFile::Open(path);
    // A header that SQLite could read and that is none: nothing more is to be had from the file.
    if (!file) return;
    StrayRows rows(fresh, std::move(strays));
    rows.Take(*file);
    salvaged.executions_lost = rows.CountLost();
}

// The same, of pages as the log has them. Where that cannot be had, a row that was deleted or has ended
// since may still stand in a page, and nothing is taken that would run again.
void TakeStraysAsOfLog(Connection& fresh, const EmbeddedOptions& options, StrayOptions strays,
                       Salvaged& salvaged) {
    const std::string path = DatabasePath(options);
    if (!LogIsLeft(path)) return TakeStrays(fresh, path, std::move(strays), salvaged);
    const ScratchCopy copy(path + ".with-log");
    const bool copied = CopyWithLog(options, copy.path());
    if (!copied) {
        strays.erased = false;
        salvaged.live_left_out = "the log of the last commits cannot be brought into the pages";
    }
    TakeStrays(fresh, copied ? copy.path() : path, std::move(strays), salvaged);
}

// Writes the draft; throws SqliteError.
Salvaged WriteDraft(const EmbeddedOptions& options, const std::string& draft) {
    std::optional<Connection> damaged = OpenDamaged(options);
    const FileSchema schema = ReadSchema(*damaged);
    const std::int64_t version = schema.cut ? static_cast<std::int64_t>(Migrations().size())
                                            : damaged->QueryInt("PRAGMA user_version");
    Connection fresh(draft, SQLITE_OPEN_READWRITE, options.vfs);
    fresh.Run("PRAGMA page_size = 8192");
    fresh.Run("PRAGMA synchronous = FULL");
    fresh.Run("BEGIN");
    std::map<std::string, std::uint64_t> gaps;
    StrayOptions strays{.broken = {},
                        .tables_lost = schema.cut,
                        .erased = damaged->QueryInt("PRAGMA secure_delete") == 1};
    Salvaged salvaged;
    if (!strays.erased) salvaged.live_left_out = "pages may hold rows that were deleted long ago";
    for (const std::string& table : MakeTables(fresh, schema)) {
        gaps[table] = TableSalvage(*damaged, fresh, table).Run();
        if (gaps[table] > 0) strays.broken.insert(table);
    }
    damaged.reset();
    if (strays.broken.empty()) {
        salvaged.live_left_out.clear();
    } else {
        TakeStraysAsOfLog(fresh, options, std::move(strays), salvaged);
    }
    salvaged.tables = CountRows(fresh, gaps);
    if (!schema.cut) {
        for (const SchemaPart& index : schema.indexes) fresh.Run(index.sql);
    }
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
    std::uint64_t pages = 0;
    try {
        Connection connection = OpenDamaged(options);
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
        // The log's too: a full disk may keep it from being written back, all or in part.
        pages = static_cast<std::uint64_t>(connection.QueryInt("PRAGMA page_count"));
    } catch (const SqliteError& error) {
        // A file without room, or locked, may be whole. A list of tables that cannot be true is none.
        const bool damage = error.is_damage() || error.code() == SQLITE_ERROR;
        if (!damage) return std::unexpected(WhyUnusable(options, error));
        lines.emplace_back(error.what());
    }
    // Said by SQLite in many words, or none. By now the log is in the file, if that takes it; what was
    // found whole with a log that has the pages which the file lacks is whole.
    const auto file = PageFile::Open(DatabasePath(options));
    const bool cut = file && file->pages() < file->pages_told();
    if (cut && (!lines.empty() || pages < file->pages_told())) {
        lines.insert(lines.begin(), fmt::format("it is cut off: {} of its {} pages are there",
                                                file->pages(), file->pages_told()));
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
    if (auto given = GiveLike(draft, path); !given) {
        fs::remove(draft, ignored);
        return std::unexpected(given.error());
    }
    Salvaged salvaged;
    try {
        salvaged = WriteDraft(options, draft);
    } catch (const SqliteError& error) {
        // Asked as long as the draft is there, which may be all that fills it.
        const bool full = MeansFullDisk(error, options.directory);
        fs::remove(draft, ignored);
        if (full) return std::unexpected(FullDisk(options.directory));
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
