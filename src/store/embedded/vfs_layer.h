// A file system of SQLite's that lies on top of the system's own; a part of the tests.
#pragma once

#include <sqlite3.h>

namespace takt::internal::embedded {

// The file of a layer, with what `Layer` adds. The real file follows in the same block of memory.
template <typename Layer>
struct LayeredFile {
    sqlite3_file base;
    Layer layer;

    static LayeredFile& Of(sqlite3_file* file) { return *reinterpret_cast<LayeredFile*>(file); }
    static sqlite3_file* Real(sqlite3_file* file) {
        return reinterpret_cast<sqlite3_file*>(&Of(file) + 1);
    }

    // Passes a call on to the real file.
    template <auto method>
    struct Pass;
    template <typename... Arguments,
              int (*sqlite3_io_methods::*method)(sqlite3_file*, Arguments...)>
    struct Pass<method> {
        static int Call(sqlite3_file* file, Arguments... arguments) {
            return (Real(file)->pMethods->*method)(Real(file), arguments...);
        }
    };

    // All calls are passed on, without those that map a file into memory: all writes are seen.
    static sqlite3_io_methods PassAll() {
        return {
            .iVersion = 2,
            .xClose = Pass<&sqlite3_io_methods::xClose>::Call,
            .xRead = Pass<&sqlite3_io_methods::xRead>::Call,
            .xWrite = Pass<&sqlite3_io_methods::xWrite>::Call,
            .xTruncate = Pass<&sqlite3_io_methods::xTruncate>::Call,
            .xSync = Pass<&sqlite3_io_methods::xSync>::Call,
            .xFileSize = Pass<&sqlite3_io_methods::xFileSize>::Call,
            .xLock = Pass<&sqlite3_io_methods::xLock>::Call,
            .xUnlock = Pass<&sqlite3_io_methods::xUnlock>::Call,
            .xCheckReservedLock = Pass<&sqlite3_io_methods::xCheckReservedLock>::Call,
            .xFileControl = Pass<&sqlite3_io_methods::xFileControl>::Call,
            .xSectorSize = Pass<&sqlite3_io_methods::xSectorSize>::Call,
            .xDeviceCharacteristics = Pass<&sqlite3_io_methods::xDeviceCharacteristics>::Call,
            .xShmMap = Pass<&sqlite3_io_methods::xShmMap>::Call,
            .xShmLock = Pass<&sqlite3_io_methods::xShmLock>::Call,
            .xShmBarrier =
                [](sqlite3_file* file) { Real(file)->pMethods->xShmBarrier(Real(file)); },
            .xShmUnmap = Pass<&sqlite3_io_methods::xShmUnmap>::Call,
        };
    }

    // The system's file system under another name, with room for such files.
    static sqlite3_vfs Over(const sqlite3_vfs& real, const char* name) {
        sqlite3_vfs copy = real;
        copy.szOsFile = static_cast<int>(sizeof(LayeredFile)) + real.szOsFile;
        copy.zName = name;
        return copy;
    }
};

}  // namespace takt::internal::embedded
