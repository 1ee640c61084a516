// The embedded store: one SQLite database in one directory, for one process.
//
// One thread writes and puts all commits that wait into one transaction; reads have threads and
// connections of their own and never wait for the writer. What the leader waits for (Load,
// FindExecutions) has one for itself, and never waits for other reads. The files: takt.db (open it
// with any SQLite tool to look inside), takt.db-wal, takt.db-shm, lock.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "store/store.h"

namespace takt::internal {

struct EmbeddedOptions {
    std::string directory;                              // Made if it does not exist.
    std::size_t cache_bytes = 64u << 20;                // Of pages, for the writer and each reader.
    std::size_t readers = 2;                            // Threads that read, beside the leader's.
    Duration read_deadline{5'000};                      // Of a read; the leader's have none.
    std::size_t load_page_rows = 10'000;                // In one page of Load.
    std::function<Steady()> clock = &SteadyClock::now;  // What ttls are measured by.
    std::string vfs;  // Of SQLite; empty for the system's. Tests put faults in here.
};

// kConflict while another process uses the directory; kInvalid, with a sentence for the operator,
// if the directory or what is in it cannot be used. An existing file is never replaced by an empty
// one.
Result<std::unique_ptr<Store>> OpenEmbedded(const EmbeddedOptions& options);

}  // namespace takt::internal
