// A file system for SQLite that fails when a test says so.
#pragma once

#include <atomic>

namespace takt::internal::embedded {

// The name to give to EmbeddedOptions::vfs. Registered at the first call.
const char* FaultVfs();

// The answer of every write, and of every sync, from now on: a code of SQLite, or 0 for success. A
// write that fails writes nothing.
extern std::atomic<int> vfs_write_code;
extern std::atomic<int> vfs_sync_code;
// Whether that is so of the database alone, and its log is well.
extern std::atomic<bool> vfs_log_is_well;
// While it is set, a sync of the database does not return; the count is of those that wait.
extern std::atomic<bool> vfs_hold_database;
extern std::atomic<int> vfs_held;

// Reads of takt.db from this offset on fail, for a page; negative: none does.
extern std::atomic<long long> vfs_unreadable_at;

}  // namespace takt::internal::embedded
