#include "store/embedded/database_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "store/embedded/private_files.h"
#include "store/embedded/schema.h"

namespace takt::internal::embedded {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic{"SQLite format 3\0", 16};

// Below this size the whole file is checked when it is opened: that takes less than a second.
// Above, only the header, the size, the schema and the top page of each table are; SQLite finds
// damage further down when it gets there.
constexpr std::uint64_t kFullCheckBytesMax = 64u << 20;

std::unexpected<Error> Broken(const std::string& path, std::string_view what) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("{} {}; nothing was changed. Restore it from a backup, repair it as "
                            "docs/stores/embedded.md tells, or move it away (with its -wal file) "
                            "to start empty",
                            path, what));
}

std::uint64_t SizeOrZero(const std::string& path) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(path, error);
    return error ? 0 : size;
}

Result<void> SyncDirectory(const std::string& directory) {
    const int file = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool synced = file >= 0 && fsync(file) == 0;
    const int error = errno;
    if (file >= 0) close(file);
    if (synced) return {};
    return Fail(ErrorCode::kInvalid,
                fmt::format("cannot sync the directory {}: {}", directory, std::strerror(error)));
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
        return Fail(ErrorCode::kInvalid,
                    fmt::format("cannot create {}: {}", path, std::strerror(errno)));
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

Result<void> CheckContent(Connection& connection, const std::string& path) {
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
    if (size <= kFullCheckBytesMax) {
        const std::string found = connection.QueryText("PRAGMA quick_check(1)");
        if (found != "ok") return Broken(path, "is damaged (" + found + ")");
        return {};
    }
    Statement tables = connection.Prepare("SELECT name FROM sqlite_schema WHERE type = 'table'");
    while (tables.Step()) {
        connection.QueryInt(fmt::format("SELECT 1 FROM {} LIMIT 1", tables.row().Bytes(0)));
    }
    return {};
}

Result<void> CheckAndMigrate(const EmbeddedOptions& options, const std::string& path) {
    if (Result<void> header = CheckHeader(path); !header) return header;
    try {
        Connection connection(path, SQLITE_OPEN_READWRITE, options.vfs);
        connection.Run("PRAGMA synchronous = FULL");
        sqlite3_busy_timeout(connection.get(), 5000);
        if (Result<void> content = CheckContent(connection, path); !content) return content;
        return Migrate(connection, path, Migrations());
    } catch (const SqliteError& error) {
        if (error.code() == SQLITE_READONLY || error.code() == SQLITE_CANTOPEN ||
            error.code() == SQLITE_PERM || error.code() == SQLITE_FULL) {
            return Fail(ErrorCode::kInvalid,
                        fmt::format("cannot write {}: {}; give this user the right to, free space "
                                    "on its disk, or choose another --store",
                                    path, error.what()));
        }
        return Broken(path, fmt::format("cannot be read ({})", error.what()));
    }
}

Connection Open(const EmbeddedOptions& options) {
    Connection connection(DatabasePath(options), SQLITE_OPEN_READWRITE, options.vfs);
    // For the time in which an operator's own tool holds a lock.
    sqlite3_busy_timeout(connection.get(), 5000);
    connection.Run("PRAGMA synchronous = FULL");
    connection.Run(fmt::format("PRAGMA cache_size = -{}", options.cache_bytes / 1024));
    connection.Run("PRAGMA temp_store = MEMORY");
    return connection;
}

}  // namespace

std::string DatabasePath(const EmbeddedOptions& options) {
    return options.directory + "/takt.db";
}

Result<void> PrepareDatabase(const EmbeddedOptions& options) {
    const std::string path = DatabasePath(options);
    std::error_code error;
    if (fs::exists(path, error)) return CheckAndMigrate(options, path);
    if (SizeOrZero(path + "-wal") > 0) {
        return Broken(path, "is missing, but its takt.db-wal is there");
    }
    try {
        return Create(options, path);
    } catch (const SqliteError& sqlite) {
        return Fail(ErrorCode::kInvalid,
                    fmt::format("cannot create {}: {}; make room on its disk or choose another "
                                "--store",
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
