// Transfers: all of a store into another one or into a file, and back.
//
// Every row goes with its serial and id, epochs go on above those of the source: a scheduler on the
// copy goes on where the one before stopped, workers and holders of locks see nothing of it.
#pragma once

#include <functional>
#include <string>

#include "archive/archive_file.h"
#include "archive/tally.h"
#include "store/store.h"
#include "store/store_snapshot.h"

namespace takt::internal {

// Called now and then with what has been passed on so far.
using TransferProgress = std::function<void(const Tally&)>;

struct Transferred {
    Tally rows;
    std::size_t partitions = 0;
    std::uint64_t resumed = 0;  // Of the rows, those that an unfinished copy had brought.
    std::uint64_t undecodable =
        0;  // Executions that the source could not read; they are shown as such.
    std::uint64_t file_bytes = 0;
};

// No scheduler may use either store: kConflict, naming it. `to` must be empty, or hold an unfinished
// copy of the same source, which is then finished.
Result<Transferred> CopyStore(Store& from, Store& to, const TransferProgress& progress);

Result<Transferred> BackUp(Store& from, const std::string& path, const TransferProgress& progress);

// The same of one moment, while schedulers go on. Nothing is left of the file if the snapshot does not
// confirm that it was one.
Result<Transferred> BackUp(StoreSnapshot& from, const std::string& path,
                           const TransferProgress& progress);

// A file that was checked whole.
struct CheckedArchive {
    std::string path;
    std::string id;
    std::vector<PartitionHead> heads;
};
Result<CheckedArchive> CheckBackup(const std::string& path);

// A file is checked before its store is opened, which writes to a new one already.
Result<Transferred> Restore(const CheckedArchive& archive, Store& to,
                            const TransferProgress& progress);

}  // namespace takt::internal
