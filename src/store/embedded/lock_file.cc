#include "store/embedded/lock_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "store/embedded/full_disk.h"

namespace takt::internal::embedded {

LockFile::~LockFile() {
    if (file_ >= 0) close(file_);
}

LockFile::LockFile(LockFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

LockFile& LockFile::operator=(LockFile&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
}

Result<LockFile> LockFile::Take(const std::string& directory) {
    const std::string path = directory + "/lock";
    LockFile lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (lock.file_ < 0) {
        const int error = errno;
        return std::unexpected(UnlessFullDisk(
            error, directory,
            fmt::format("cannot write in {}: {}; give this user the right to, or choose another "
                        "--store",
                        directory, std::strerror(error))));
    }
    // Of the open file, not of the process: two stores in one process exclude each other too.
    struct flock all{};
    all.l_type = F_WRLCK;
    all.l_whence = SEEK_SET;
    if (fcntl(lock.file_, F_OFD_SETLK, &all) != 0) {
        std::array<char, 32> pid{};
        const ssize_t size = pread(lock.file_, pid.data(), pid.size() - 1, 0);
        return Fail(ErrorCode::kConflict,
                    fmt::format("another process (pid {}) uses the directory {}; stop it or choose "
                                "another --store",
                                size > 0 ? pid.data() : "unknown", directory));
    }
    const std::string pid = std::to_string(getpid());
    if (ftruncate(lock.file_, 0) != 0 ||
        pwrite(lock.file_, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
        const int error = errno;
        return std::unexpected(UnlessFullDisk(
            error, directory, fmt::format("cannot write {}: {}", path, std::strerror(error))));
    }
    return lock;
}

}  // namespace takt::internal::embedded
