// A snapshot of a directory that another process may be using: a copy of its file.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "store/embedded/database_file.h"
#include "store/embedded/store.h"

namespace takt::internal {
namespace embedded {
namespace {

// A checkpoint that ends, or a writer that recovers the file, is waited for.
constexpr int kBusyMs = 10'000;

// A connection of SQLite's own kind: ours set up a file for its writer.
struct Plain {
    ~Plain() { sqlite3_close(handle); }
    sqlite3* handle = nullptr;
};

class DirectorySnapshot final : public StoreSnapshot {
  public:
    DirectorySnapshot(std::string directory, std::unique_ptr<Store> copy)
        : directory_(std::move(directory)), copy_(std::move(copy)) {}
    ~DirectorySnapshot() override {
        copy_.reset();
        std::error_code ignored;  // What cannot be removed is in the way of nobody but the disk.
        std::filesystem::remove_all(directory_, ignored);
    }
    Store& store() override { return *copy_; }

  private:
    const std::string directory_;
    std::unique_ptr<Store> copy_;
};

// All pages in one step, which is one read transaction: writers go on, and nothing of theirs is seen.
Result<void> CopyFile(const std::string& from, const std::string& to) {
    Plain source;
    Plain target;
    const auto failed = [](const Plain& at, const std::string& doing) {
        return Fail(ErrorCode::kUnavailable,
                    fmt::format("{}: {}", doing, sqlite3_errmsg(at.handle)));
    };
    if (sqlite3_open_v2(from.c_str(), &source.handle, SQLITE_OPEN_READWRITE, nullptr) !=
        SQLITE_OK) {
        return failed(source, "cannot read " + from);
    }
    sqlite3_busy_timeout(source.handle, kBusyMs);
    // Its owner's alone from the start.
    const int made = open(to.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (made >= 0) close(made);
    if (sqlite3_open_v2(to.c_str(), &target.handle, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK) {
        return failed(target, "cannot write " + to);
    }
    sqlite3_backup* copy = sqlite3_backup_init(target.handle, "main", source.handle, "main");
    if (!copy) return failed(target, "cannot copy " + from);
    const int stepped = sqlite3_backup_step(copy, -1);
    sqlite3_backup_finish(copy);
    if (stepped != SQLITE_DONE) return failed(target, "cannot copy " + from + " to " + to);
    return {};
}

}  // namespace
}  // namespace embedded

Result<std::unique_ptr<StoreSnapshot>> SnapshotEmbedded(const EmbeddedOptions& options,
                                                        const std::string& scratch) {
    const std::string from = embedded::DatabasePath(options);
    if (!std::filesystem::exists(from)) {
        return Fail(ErrorCode::kNotFound, "there is no store in " + options.directory);
    }
    // A folder of its own, and its owner's alone: another backup's, or anybody's, is left as it is.
    std::string folder = scratch + "-XXXXXX";
    if (!mkdtemp(folder.data())) {
        return Fail(ErrorCode::kInvalid,
                    "cannot make a folder " + folder + ": " + std::strerror(errno));
    }
    EmbeddedOptions copy = options;
    copy.directory = folder;
    auto copied = embedded::CopyFile(from, embedded::DatabasePath(copy));
    auto store = copied ? OpenEmbedded(copy) : std::unexpected(copied.error());
    if (!store) {
        std::error_code ignored;  // What stays is told by nobody but its name.
        std::filesystem::remove_all(folder, ignored);
        return std::unexpected(store.error());
    }
    return std::make_unique<embedded::DirectorySnapshot>(folder, std::move(*store));
}

}  // namespace takt::internal
