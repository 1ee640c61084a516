// DatabaseFile: brings takt.db into a state in which it can be used, or says what is wrong with it.
//
// A file that exists is opened or refused, never replaced: what looks broken to us may be what an
// operator restores his tasks from.
#pragma once

#include <string>

#include "base/error.h"
#include "store/embedded/sqlite.h"
#include "store/embedded/store.h"

namespace takt::internal::embedded {

std::string DatabasePath(const EmbeddedOptions& options);

// Makes what was created and renamed in a directory outlive a power cut.
Result<void> SyncDirectory(const std::string& directory);

// Why the file could not be opened, for the operator. kUnavailable if nobody has to do anything to it:
// the disk is full, or another program has locked it. Else kInvalid; that it can be moved away is said
// of a damaged file alone.
Error WhyUnusable(const EmbeddedOptions& options, const SqliteError& error);

// Creates the file if there is none, checks it if there is, and brings its tables up to date. Errors as
// WhyUnusable, and kInvalid if it is not one of ours.
Result<void> PrepareDatabase(const EmbeddedOptions& options);

// A connection set up for the one writer, or for a reader. Throws SqliteError.
Connection OpenWriter(const EmbeddedOptions& options);
Connection OpenReader(const EmbeddedOptions& options);

}  // namespace takt::internal::embedded
