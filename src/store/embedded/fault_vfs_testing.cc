// The implementation of fault_vfs.h; a part of the tests, not of the library.
#include <sqlite3.h>

#include <new>

#include "store/embedded/fault_vfs.h"

namespace takt::internal::embedded {

std::atomic<int> vfs_write_code = 0;
std::atomic<int> vfs_sync_code = 0;

namespace {

// The real file follows in the same block of memory.
struct FaultFile {
    sqlite3_file base;
    sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

sqlite3_file* Real(sqlite3_file* file) {
    return reinterpret_cast<FaultFile*>(file)->real();
}

// Passes a call on to the real file.
template <auto method>
struct Pass;
template <typename... Arguments, int (*sqlite3_io_methods::*method)(sqlite3_file*, Arguments...)>
struct Pass<method> {
    static int Call(sqlite3_file* file, Arguments... arguments) {
        return (Real(file)->pMethods->*method)(Real(file), arguments...);
    }
};

int Write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
    if (const int code = vfs_write_code) return code;
    return Real(file)->pMethods->xWrite(Real(file), bytes, size, offset);
}

int Sync(sqlite3_file* file, int flags) {
    if (const int code = vfs_sync_code) return code;
    return Real(file)->pMethods->xSync(Real(file), flags);
}

const sqlite3_io_methods kMethods = {
    .iVersion = 2,
    .xClose = Pass<&sqlite3_io_methods::xClose>::Call,
    .xRead = Pass<&sqlite3_io_methods::xRead>::Call,
    .xWrite = Write,
    .xTruncate = Pass<&sqlite3_io_methods::xTruncate>::Call,
    .xSync = Sync,
    .xFileSize = Pass<&sqlite3_io_methods::xFileSize>::Call,
    .xLock = Pass<&sqlite3_io_methods::xLock>::Call,
    .xUnlock = Pass<&sqlite3_io_methods::xUnlock>::Call,
    .xCheckReservedLock = Pass<&sqlite3_io_methods::xCheckReservedLock>::Call,
    .xFileControl = Pass<&sqlite3_io_methods::xFileControl>::Call,
    .xSectorSize = Pass<&sqlite3_io_methods::xSectorSize>::Call,
    .xDeviceCharacteristics = Pass<&sqlite3_io_methods::xDeviceCharacteristics>::Call,
    .xShmMap = Pass<&sqlite3_io_methods::xShmMap>::Call,
    .xShmLock = Pass<&sqlite3_io_methods::xShmLock>::Call,
    .xShmBarrier = [](sqlite3_file* file) { Real(file)->pMethods->xShmBarrier(Real(file)); },
    .xShmUnmap = Pass<&sqlite3_io_methods::xShmUnmap>::Call,
};

sqlite3_vfs* real_vfs = nullptr;

int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* flags_out) {
    file->pMethods = nullptr;
    const int code = real_vfs->xOpen(real_vfs, name, Real(file), flags, flags_out);
    if (code == SQLITE_OK) file->pMethods = &kMethods;
    return code;
}

}  // namespace

const char* FaultVfs() {
    static sqlite3_vfs vfs = [] {
        real_vfs = sqlite3_vfs_find(nullptr);
        sqlite3_vfs copy = *real_vfs;
        copy.szOsFile = static_cast<int>(sizeof(FaultFile)) + real_vfs->szOsFile;
        copy.zName = "takt-faults";
        copy.xOpen = Open;
        return copy;
    }();
    static const int kRegistered = sqlite3_vfs_register(&vfs, 0);
    return kRegistered == SQLITE_OK ? vfs.zName : nullptr;
}

}  // namespace takt::internal::embedded
