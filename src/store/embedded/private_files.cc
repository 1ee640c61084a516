#include "store/embedded/private_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/log.h"
#include "store/embedded/full_disk.h"

namespace takt::internal::embedded {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kOthers = S_IRWXG | S_IRWXO;
constexpr unsigned kDirectoryMode = S_IRWXU;
constexpr unsigned kFileMode = S_IRUSR | S_IWUSR;

constexpr std::array<std::string_view, 5> kFiles = {"takt.db", "takt.db-wal", "takt.db-shm",
                                                    "takt.db.new", "lock"};

std::unexpected<Error> CannotMake(const std::string& path, int error) {
    return std::unexpected(
        UnlessFullDisk(error, path,
                       fmt::format("cannot make the directory {}: {}; choose another --store", path,
                                   std::strerror(error))));
}

// Whether nothing but our files is in there, so that nobody else has a reason to look inside.
bool IsOurs(const std::string& directory) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
        const std::string name = entry.path().filename();
        if (std::ranges::find(kFiles, name) == kFiles.end()) return false;
    }
    return !error;
}

}  // namespace

void Tighten(const std::string& path) {
    struct stat found{};
    // A file that is not there is made private when it is made; a link leads to something else.
    if (lstat(path.c_str(), &found) != 0 || S_ISLNK(found.st_mode)) return;
    if ((found.st_mode & kOthers) == 0) return;
    if (chmod(path.c_str(), kFileMode) == 0) {
        Log(LogLevel::kInfo, "store", "other users could read this; now they cannot",
            {{"path", path}});
        return;
    }
    Log(LogLevel::kWarning, "store",
        "other users of this machine can read payloads, results and tokens of attempts, and this "
        "process may not change that; take their rights away",
        {{"path", path},
         {"mode", fmt::format("{:o}", found.st_mode & 07777)},
         {"error", std::strerror(errno)}});
}

Result<void> MakePrivate(const std::string& directory) {
    std::error_code error;
    const fs::path path = fs::path(directory).lexically_normal();
    const fs::path last = path.has_filename() ? path : path.parent_path();
    // Directories above are not ours alone, and get the rights that the umask leaves.
    if (last.has_parent_path()) fs::create_directories(last.parent_path(), error);
    if (error) return CannotMake(directory, error.value());
    if (mkdir(last.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
        return CannotMake(directory, errno);
    }
    struct stat found{};
    if (stat(last.c_str(), &found) != 0) return CannotMake(directory, errno);
    if (!S_ISDIR(found.st_mode)) return CannotMake(directory, ENOTDIR);
    for (const std::string_view file : kFiles) {
        Tighten(directory + "/" + std::string(file));
    }
    const bool everybodys = (found.st_mode & S_ISVTX) != 0;
    const bool made_private =
        (found.st_mode & kOthers) == 0 ||
        (!everybodys && IsOurs(last) && chmod(last.c_str(), kDirectoryMode) == 0);
    if (!made_private && (found.st_mode & S_IWOTH) != 0) {
        Log(LogLevel::kWarning, "store",
            "other users may write into the store's directory; give it one of its own",
            {{"path", directory}, {"mode", fmt::format("{:o}", found.st_mode & 07777)}});
    }
    return {};
}

Result<void> MakePrivateFile(const std::string& path) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kFileMode);
    if (file < 0) {
        const int error = errno;
        return std::unexpected(
            UnlessFullDisk(error, fs::path(path).parent_path().string(),
                           fmt::format("cannot create {}: {}; choose another --store", path,
                                       std::strerror(error))));
    }
    close(file);
    return {};
}

Result<void> GiveLike(const std::string& path, const std::string& other) {
    struct stat found{};
    // The owner first: a change of it may take rights away.
    if (stat(other.c_str(), &found) == 0 && chown(path.c_str(), found.st_uid, found.st_gid) == 0 &&
        chmod(path.c_str(), found.st_mode & 07777) == 0) {
        return {};
    }
    return Fail(ErrorCode::kInvalid,
                fmt::format("cannot give {} the owner and the rights of {}: {}", path, other,
                            std::strerror(errno)));
}

}  // namespace takt::internal::embedded
