// How the embedded store uses its directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"

namespace takt::internal {

struct EmbeddedOptions {
    std::string directory;                // Made if it does not exist.
    bool create = true;                   // Whether an empty store is made if there is none.
    std::size_t cache_bytes = 64u << 20;  // Of pages, for the writer and each reader.
    std::size_t readers = 2;              // Threads that read, beside the leader's.
    Duration read_deadline{5'000};        // Of a read; the leader's have none.
    std::size_t load_page_rows = 10'000;  // In one page of Load.
    int checkpoint_frames = 1'000;        // Of the log, not in the database, begin a checkpoint.
    // Up to this size a file is read as a whole when it is opened: that takes less than a second.
    std::uint64_t full_check_bytes_max = 64u << 20;
    std::function<Steady()> clock = &SteadyClock::now;  // Measures ttls.
    std::string vfs;  // Of SQLite; empty for the system's. Tests put faults in here.
};

// file:DIRECTORY[?name=value&…]; file:dir, file:./dir, file:/dir and file:///dir all name one.
// docs/stores/embedded.md lists the parameters, the table in options.cc reads them. kInvalid, naming
// the part at fault, for anything else.
Result<EmbeddedOptions> ParseEmbeddedUrl(std::string_view url);

}  // namespace takt::internal
