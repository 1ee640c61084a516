// FullDisk: a store that cannot be opened for want of room is whole, and is told apart from one that is
// damaged.
#pragma once

#include <string>

#include "base/error.h"
#include "store/embedded/sqlite.h"

namespace takt::internal::embedded {

// Whether the system refused for want of room: a full disk, a quota, a limit of the file size.
bool IsNoRoomErrno(int error);

// Whether a connection that is being opened, or has just been, failed for want of room. SQLite calls
// much of that an I/O error: its log and its shared memory are files that it cannot make.
bool MeansFullDisk(const SqliteError& error, const std::string& directory);

// kUnavailable: it can be opened when there is room, and nobody has to do anything else.
Error FullDisk(const std::string& directory);

// `otherwise` unless the system refused for want of room.
Error UnlessFullDisk(int error, const std::string& directory, std::string otherwise);

}  // namespace takt::internal::embedded
