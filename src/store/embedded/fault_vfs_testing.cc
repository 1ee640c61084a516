// The implementation of fault_vfs.h; a part of the tests, not of the library.
#include "store/embedded/fault_vfs.h"

#include <string_view>

#include "store/embedded/vfs_layer.h"

namespace takt::internal::embedded {

std::atomic<int> vfs_write_code = 0;
std::atomic<int> vfs_sync_code = 0;
std::atomic<long long> vfs_unreadable_at = -1;
std::atomic<bool> vfs_log_is_well = false;
std::atomic<bool> vfs_hold_database = false;
std::atomic<int> vfs_held = 0;

namespace {

constexpr sqlite3_int64 kFaultPage = 8192;

struct Kind {
    bool database;
};
using FaultFile = LayeredFile<Kind>;

int CodeFor(sqlite3_file* file, int code) {
    return vfs_log_is_well && !FaultFile::Of(file).layer.database ? SQLITE_OK : code;
}

void WaitIfHeld(sqlite3_file* file) {
    if (!vfs_hold_database || !FaultFile::Of(file).layer.database) return;
    ++vfs_held;
    vfs_held.notify_all();
    vfs_hold_database.wait(true);
    --vfs_held;
}

const sqlite3_io_methods kFaulty = [] {
    sqlite3_io_methods methods = FaultFile::PassAll();
    methods.xRead = [](sqlite3_file* file, void* bytes, int size, sqlite3_int64 offset) {
        const sqlite3_int64 at = vfs_unreadable_at;
        const bool unreadable = at >= 0 && offset < at + kFaultPage && offset + size > at;
        if (unreadable && FaultFile::Of(file).layer.database) return SQLITE_IOERR_READ;
        return FaultFile::Pass<&sqlite3_io_methods::xRead>::Call(file, bytes, size, offset);
    };
    methods.xWrite = [](sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
        if (const int code = CodeFor(file, vfs_write_code)) return code;
        return FaultFile::Pass<&sqlite3_io_methods::xWrite>::Call(file, bytes, size, offset);
    };
    methods.xSync = [](sqlite3_file* file, int flags) {
        WaitIfHeld(file);
        if (const int code = CodeFor(file, vfs_sync_code)) return code;
        return FaultFile::Pass<&sqlite3_io_methods::xSync>::Call(file, flags);
    };
    return methods;
}();

sqlite3_vfs* real_vfs = nullptr;

int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* flags_out) {
    file->pMethods = nullptr;
    FaultFile::Of(file).layer.database = name && std::string_view(name).ends_with("/takt.db");
    const int code = real_vfs->xOpen(real_vfs, name, FaultFile::Real(file), flags, flags_out);
    if (code == SQLITE_OK) file->pMethods = &kFaulty;
    return code;
}

}  // namespace

const char* FaultVfs() {
    static sqlite3_vfs vfs = [] {
        real_vfs = sqlite3_vfs_find(nullptr);
        sqlite3_vfs made = FaultFile::Over(*real_vfs, "takt-faults");
        made.xOpen = Open;
        return made;
    }();
    static const int kRegistered = sqlite3_vfs_register(&vfs, 0);
    return kRegistered == SQLITE_OK ? vfs.zName : nullptr;
}

}  // namespace takt::internal::embedded
