// A snapshot of a directory that another process may be using: a copy of its file.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
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

// A folder for the copy, and its owner's alone. It is locked while its process lives, so that the next
// one can tell what a killed one left from what another still uses.
class ScratchFolder {
  public:
    static Result<std::unique_ptr<ScratchFolder>> Make(const std::string& scratch) {
        for (;;) {
            std::string path = scratch + "-XXXXXX";
            if (!mkdtemp(path.data())) {
                return Fail(ErrorCode::kInvalid,
                            "cannot make a folder " + path + ": " + std::strerror(errno));
            }
            std::unique_ptr<ScratchFolder> made(new ScratchFolder(path));
            // Where nothing can be locked, nothing is taken for left either. Else another one's
            // look may come before the lock, and take the folder away.
            static_cast<void>(made->Lock());
            if (std::filesystem::exists(path)) return made;
        }
    }

    // Removes folders of that name that nobody uses and that hold nothing but a copy.
    static void RemoveLeft(const std::string& scratch) {
        const std::filesystem::path like(scratch + "-XXXXXX");
        std::error_code ignored;  // What cannot be removed is in the way of nobody but the disk.
        for (std::filesystem::directory_iterator at(
                 like.has_parent_path() ? like.parent_path() : ".", ignored);
             !ignored && at != std::filesystem::directory_iterator(); at.increment(ignored)) {
            const std::string name = at->path().filename();
            const std::string wanted = like.filename();
            if (name.size() != wanted.size() ||
                !name.starts_with(wanted.substr(0, wanted.size() - 6)))
                continue;
            ScratchFolder left(at->path());
            if (!HoldsOnlyACopy(at->path()) || !left.Lock()) left.path_.clear();
        }
    }

    ~ScratchFolder() {
        std::error_code ignored;
        if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
        if (lock_ >= 0) close(lock_);
    }
    const std::string& path() const { return path_; }

  private:
    explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
    ScratchFolder(const ScratchFolder&) = delete;

    bool Lock() {
        lock_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return lock_ >= 0 && flock(lock_, LOCK_EX | LOCK_NB) == 0;
    }
    static bool HoldsOnlyACopy(const std::filesystem::path& folder) {
        std::error_code failed;
        for (std::filesystem::directory_iterator at(folder, failed);
             !failed && at != std::filesystem::directory_iterator(); at.increment(failed)) {
            const std::string name = at->path().filename();
            if (name != "lock" && !name.starts_with("takt.db")) return false;
        }
        return !failed;
    }

    std::string path_;
    int lock_ = -1;
};

class DirectorySnapshot final : public StoreSnapshot {
  public:
    DirectorySnapshot(std::unique_ptr<ScratchFolder> folder, std::unique_ptr<Store> copy)
        : folder_(std::move(folder)), copy_(std::move(copy)) {}
    Store& store() override { return *copy_; }

  private:
    const std::unique_ptr<ScratchFolder> folder_;  // Outlives the copy in it.
    const std::unique_ptr<Store> copy_;
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
    embedded::ScratchFolder::RemoveLeft(scratch);
    auto folder = embedded::ScratchFolder::Make(scratch);
    if (!folder) return std::unexpected(folder.error());
    EmbeddedOptions copy = options;
    copy.directory = (*folder)->path();
    auto copied = embedded::CopyFile(from, embedded::DatabasePath(copy));
    auto store = copied ? OpenEmbedded(copy) : std::unexpected(copied.error());
    if (!store) return std::unexpected(store.error());
    return std::make_unique<embedded::DirectorySnapshot>(std::move(*folder), std::move(*store));
}

}  // namespace takt::internal
