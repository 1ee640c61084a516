// How much an embedded store takes of its disk.
#pragma once

#include <sys/statvfs.h>

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "store/store_room.h"

namespace takt::internal::embedded {

// Nothing if the directory cannot be looked at.
inline std::optional<StoreRoom> RoomIn(const std::string& directory) {
    StoreRoom room{.bound = "the disk"};
    std::error_code error;
    std::filesystem::directory_iterator file(directory, error);
    for (; !error && file != std::filesystem::directory_iterator(); file.increment(error)) {
        std::error_code gone;  // SQLite takes files away and makes others.
        if (const auto size = file->file_size(gone); !gone) room.bytes += size;
    }
    struct statvfs disk{};
    if (error || statvfs(directory.c_str(), &disk) != 0) return std::nullopt;
    room.bytes_max = room.bytes + std::uint64_t(disk.f_bavail) * disk.f_frsize;
    const auto total = double(disk.f_blocks - disk.f_bfree + disk.f_bavail);
    if (total > 0) room.used = 1 - double(disk.f_bavail) / total;
    return room;
}

}  // namespace takt::internal::embedded
