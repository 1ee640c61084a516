// The embedded store: one SQLite database in one directory, for one process.
//
// One thread writes and puts all commits that wait into one transaction; reads have threads and
// connections of their own and never wait for the writer. What the leader waits for (Load,
// FindExecutions) has one for itself, and never waits for other reads. Files, sizes and backups:
// docs/stores/embedded.md.
#pragma once

#include <memory>
#include <string>

#include "store/embedded/options.h"
#include "store/store.h"
#include "store/store_snapshot.h"

namespace takt::internal {

// kConflict while another process uses the directory; kUnavailable if its disk is full, or another
// program has locked the file; kInvalid, with a sentence for the operator, if the directory or what is
// in it cannot be used. An existing file is never replaced by an empty one. The directory and its files
// belong to their user alone afterwards, or the log warns.
Result<std::unique_ptr<Store>> OpenEmbedded(const EmbeddedOptions& options);

// The state of this moment, also while another process uses the directory. `scratch` is a directory
// for a copy of the file, replaced if it is there. kNotFound if there is no store.
Result<std::unique_ptr<StoreSnapshot>> SnapshotEmbedded(const EmbeddedOptions& options,
                                                        const std::string& scratch);

}  // namespace takt::internal
