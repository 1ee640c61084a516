#include "store/embedded/database_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/failpoint.h"
#include "base/number.h"
#include "store/embedded/full_disk.h"
#include "store/embedded/private_files.h"
#include "store/embedded/schema.h"

namespace takt::internal::embedded {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic{"SQLite format 3\0", 16};

// Tables of what is over, which no scheduler needs to go on: damage in them is found by who reads
// them.
constexpr std::array<std::string_view, 4> kPastTables = {"history", "logs", "events", "audit"};

// Of any partition, and of children too: "p7_child_history".
bool IsPast(std::string_view table) {
    return std::ranges::any_of(kPastTables, [&](std::string_view past) {
        return table == past || table.ends_with("_" + std::string(past));
    });
}

std::unexpected<Error> Broken(const std::string& path, std::string_view what) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("{} {}; nothing was changed. Restore it from a backup, repair it with "
                            "takt store repair file:{}, or move it away (with its -wal file) to "
                            "start empty",
                            path, what, fs::path(path).parent_path().string()));
}

// A disk that does not do what it should says nothing of the file, which may be whole: nobody is to
// move that away.
std::unexpected<Error> Failing(const std::string& path, std::string_view what) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("{} cannot be used ({}); nothing was changed. That is no damage of its "
                            "content yet: look at the disk and the system's log, and start again. "
                            "If the disk has lost parts of it, restore it from a backup, or repair "
                            "it with takt store repair file:{}",
                            path, what, fs::path(path).parent_path().string()));
}

std::uint64_t SizeOrZero(const std::string& path) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(path, error);
    return error ? 0 : size;
}

// Made under another name and renamed when it is whole: a crash in between leaves no takt.db, so an
// empty or half one is never ours.
Result<void> Create(const EmbeddedOptions& options, const std::string& path) {
    const std::string draft = path + ".new";
    std::error_code ignored;  // If it cannot be removed, it cannot be written either.
    fs::remove(draft, ignored);
    if (Result<void> made = MakePrivateFile(draft); !made) return made;
    {
        Connection connection(draft, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, options.vfs);
        connection.Run("PRAGMA page_size = 8192");
        connection.Run("PRAGMA synchronous = FULL");
        connection.Run(fmt::format("PRAGMA application_id = {}", kApplicationId));
        if (Result<void> made = Migrate(connection, path, Migrations()); !made) return made;
        connection.QueryText("PRAGMA journal_mode = WAL");
    }
    if (std::rename(draft.c_str(), path.c_str()) != 0) {
        const int error = errno;
        return std::unexpected(
            UnlessFullDisk(error, options.directory,
                           fmt::format("cannot create {}: {}", path, std::strerror(error))));
    }
    return SyncDirectory(options.directory);
}

// Damage that can be seen without SQLite, which would take some of it for a new database.
Result<void> CheckHeader(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::array<char, 100> header{};
    file.read(header.data(), header.size());
    if (!file) {
        if (SizeOrZero(path) >= header.size()) {
            return Fail(ErrorCode::kInvalid,
                        fmt::format("cannot read {}: {}; give this user the right to", path,
                                    std::strerror(errno)));
        }
        return Broken(path, "is cut off before the end of its header");
    }
    if (std::string_view(header.data(), kMagic.size()) != kMagic) {
        return Broken(path, "is not a database of Takt, or its header is damaged");
    }
    return {};
}

// Whether a page begins like one of a table's, as SQLite's file format has it.
bool IsTablePage(std::ifstream& file, std::uint64_t offset) {
    char kind = 0;
    file.seekg(static_cast<std::streamoff>(offset));
    file.get(kind);
    return file && (kind == 0x02 || kind == 0x05 || kind == 0x0A || kind == 0x0D);
}

// Of a file too large to be read as a whole: the top page of each table, and the first rows of those
// that a leader loads. Never by an index: the rows are whole without it.
Result<void> CheckTops(Connection& connection, const std::string& path, std::uint64_t page_size) {
    std::ifstream file(path, std::ios::binary);
    Statement tables =
        connection.Prepare("SELECT name, rootpage FROM sqlite_schema WHERE type = 'table'");
    while (tables.Step()) {
        const std::string name(tables.row().Bytes(0));
        const auto top = static_cast<std::uint64_t>(tables.row().Int(1));
        if (!IsTablePage(file, (top - 1) * page_size)) {
            return Broken(path, "is damaged (the top page of " + name + ")");
        }
        if (IsPast(name)) continue;
        connection.QueryInt(fmt::format("SELECT 1 FROM {} NOT INDEXED LIMIT 1", name));
    }
    return {};
}

// Whether a line of SQLite's check tells of a page that the disk did not give.
bool IsUnread(std::string_view line) {
    constexpr std::string_view kCode = "error code=";
    const std::size_t at = line.find(kCode);
    if (at == std::string_view::npos) return false;
    const std::string_view rest = line.substr(at + kCode.size());
    const auto code = ParseNumber<int>(rest.substr(0, rest.find_first_not_of("0123456789")));
    return code && (*code & 0xff) == SQLITE_IOERR;
}

Result<void> CheckContent(Connection& connection, const std::string& path,
                          std::uint64_t full_check_bytes_max) {
    if (connection.QueryInt("PRAGMA application_id") != kApplicationId) {
        return Broken(path, "is a SQLite database, but not one of Takt");
    }
    // The content of the log is part of the file's size; bring it in first.
    connection.Run("PRAGMA wal_checkpoint(TRUNCATE)");
    const auto pages = static_cast<std::uint64_t>(connection.QueryInt("PRAGMA page_count"));
    const auto page_size = static_cast<std::uint64_t>(connection.QueryInt("PRAGMA page_size"));
    const std::uint64_t size = SizeOrZero(path);
    if (size < pages * page_size) {
        return Broken(path,
                      fmt::format("is cut off: it has {} bytes of {}", size, pages * page_size));
    }
    if (size > full_check_bytes_max) return CheckTops(connection, path, page_size);
    std::string found = connection.QueryText("PRAGMA quick_check(1)");
    // Its first line names the file in SQLite's way.
    if (found.starts_with("***")) found.erase(0, found.find('\n') + 1);
    if (found == "ok") return {};
    return IsUnread(found) ? Failing(path, found) : Broken(path, "is damaged (" + found + ")");
}

Result<void> CheckAndMigrate(const EmbeddedOptions& options, const std::string& path) {
    if (Result<void> header = CheckHeader(path); !header) return header;
    try {
        Connection connection(path, SQLITE_OPEN_READWRITE, options.vfs);
        connection.Run("PRAGMA synchronous = FULL");
        sqlite3_busy_timeout(connection.get(), 5000);
        if (auto content = CheckContent(connection, path, options.full_check_bytes_max); !content) {
            return content;
        }
        return Migrate(connection, path, Migrations());
    } catch (const SqliteError& error) {
        return std::unexpected(WhyUnusable(options, error));
    }
}

Connection Open(const EmbeddedOptions& options) {
    Connection connection(DatabasePath(options), SQLITE_OPEN_READWRITE, options.vfs);
    // For the time in which an operator's own tool holds a lock.
    sqlite3_busy_timeout(connection.get(), 5000);
    connection.Run(TAKT_MUTANT("embedded.unsynced") ? "PRAGMA synchronous = OFF"
                                                    : "PRAGMA synchronous = FULL");
    connection.Run(fmt::format("PRAGMA cache_size = -{}", options.cache_bytes / 1024));
    connection.Run("PRAGMA temp_store = MEMORY");
    return connection;
}

}  // namespace

Result<void> SyncDirectory(const std::string& directory) {
    const int file = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool synced = file >= 0 && fsync(file) == 0;
    const int error = errno;
    if (file >= 0) close(file);
    if (synced) return {};
    return Fail(ErrorCode::kInvalid,
                fmt::format("cannot sync the directory {}: {}", directory, std::strerror(error)));
}

std::string DatabasePath(const EmbeddedOptions& options) {
    return options.directory + "/takt.db";
}

Error WhyUnusable(const EmbeddedOptions& options, const SqliteError& error) {
    const std::string path = DatabasePath(options);
    if (MeansFullDisk(error, options.directory)) return FullDisk(options.directory);
    switch (error.code()) {
        case SQLITE_READONLY:
        case SQLITE_CANTOPEN:
        case SQLITE_PERM:
            return {ErrorCode::kInvalid,
                    fmt::format("cannot write {}: {}; give this user the right to, or choose "
                                "another --store",
                                path, error.what()),
                    {}};
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return {ErrorCode::kUnavailable,
                    fmt::format("another program has locked {} ({}); end it", path, error.what()),
                    {}};
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
        case SQLITE_ERROR:  // A list of tables that cannot be true.
            return Broken(path, fmt::format("cannot be read ({})", error.what())).error();
        default:
            return Failing(path, error.what()).error();
    }
}

Result<void> PrepareDatabase(const EmbeddedOptions& options) {
    const std::string path = DatabasePath(options);
    std::error_code error;
    if (fs::exists(path, error)) return CheckAndMigrate(options, path);
    if (SizeOrZero(path + "-wal") > 0) {
        return Broken(path, "is missing, but its takt.db-wal is there");
    }
    if (!options.create) {
        return Fail(ErrorCode::kUnavailable,
                    path + " was there and is gone; put it back, or start Takt anew");
    }
    try {
        return Create(options, path);
    } catch (const SqliteError& sqlite) {
        if (MeansFullDisk(sqlite, options.directory)) {
            return std::unexpected(FullDisk(options.directory));
        }
        return Fail(ErrorCode::kInvalid, fmt::format("cannot create {}: {}; choose another --store",
                                                     path, sqlite.what()));
    }
}

Connection OpenWriter(const EmbeddedOptions& options) {
    Connection connection = Open(options);
    connection.QueryText("PRAGMA journal_mode = WAL");
    // The writer checkpoints itself, after it has answered.
    connection.Run("PRAGMA wal_autocheckpoint = 0");
    connection.Run("PRAGMA journal_size_limit = 268435456");
    return connection;
}

Connection OpenReader(const EmbeddedOptions& options) {
    Connection connection = Open(options);
    connection.Run("PRAGMA query_only = 1");
    return connection;
}

}  // namespace takt::internal::embedded
