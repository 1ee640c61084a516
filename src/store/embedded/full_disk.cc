#include "store/embedded/full_disk.h"

#include <fmt/core.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstdint>

namespace takt::internal::embedded {
namespace {

// SQLite makes its shared memory first of all, which does not fit in less.
constexpr std::uint64_t kRoomMin = 32u << 10;

bool HasNoRoom(const std::string& directory) {
    struct statvfs disk{};
    if (statvfs(directory.c_str(), &disk) != 0) return false;
    // Some file systems do not count their files.
    const bool no_files = disk.f_files > 0 && disk.f_favail == 0;
    return no_files || std::uint64_t(disk.f_bavail) * disk.f_frsize < kRoomMin;
}

}  // namespace

bool IsNoRoomErrno(int error) {
    return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

bool MeansFullDisk(const SqliteError& error, const std::string& directory) {
    if (error.code() == SQLITE_FULL || error.extended_code() == SQLITE_IOERR_SHMSIZE) return true;
    if (error.is_damage()) return false;
    if (error.code() != SQLITE_IOERR && error.code() != SQLITE_CANTOPEN) return false;
    return IsNoRoomErrno(error.system_errno()) || HasNoRoom(directory);
}

Error FullDisk(const std::string& directory) {
    return {
        ErrorCode::kUnavailable,
        fmt::format("the disk of {} is full; free some space there. Nothing was changed, and no "
                    "damage was seen",
                    directory),
        {}};
}

Error UnlessFullDisk(int error, const std::string& directory, std::string otherwise) {
    if (IsNoRoomErrno(error)) return FullDisk(directory);
    return {ErrorCode::kInvalid, std::move(otherwise), {}};
}

}  // namespace takt::internal::embedded
