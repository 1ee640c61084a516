// Salvage: a takt.db that is cut off, or has damaged pages, is made anew from the rows that can
// still be read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "store/embedded/options.h"

namespace takt::internal {

struct SalvagedTable {
    std::string name;         // Without the prefix of its partition.
    Partition partition = 0;  // Of what belongs to all, the default one.
    std::uint64_t rows = 0;   // Those in the new file.
    // Stretches that could not be read, at least so many; how many rows they had nobody knows.
    std::uint64_t gaps = 0;
};

struct Salvaged {
    std::vector<SalvagedTable> tables;
    std::string kept;  // The damaged file.
    // Executions that indexes still name and that are gone, by partition: so many are lost at least.
    std::map<Partition, std::uint64_t> executions_lost;
    // Why executions that had not ended, and definitions, were not taken from pages that no tree leads
    // to; empty if they were.
    std::string live_left_out;

    std::uint64_t gaps() const {
        std::uint64_t all = 0;
        for (const SalvagedTable& table : tables) all += table.gaps;
        return all;
    }
};

// The faults of the file, in SQLite's words, one to a line; nothing if it is whole. All of it is
// read. kConflict while another process uses the directory; kUnavailable if nothing can be said
// because its disk is full.
Result<std::vector<std::string>> DamageOfEmbedded(const EmbeddedOptions& options);

// Makes the file anew, with all indexes, and with the owner and rights of the old one, which stays
// beside it under another name. Rows are read by the trees of their tables and, where these are
// broken, from each page that is still there, as its log has it. kConflict while another process uses
// the directory. Nothing is changed, with kUnavailable, if its disk is full, and with kInvalid if not
// even the names of its first tables can be read.
Result<Salvaged> SalvageEmbedded(const EmbeddedOptions& options);

}  // namespace takt::internal
