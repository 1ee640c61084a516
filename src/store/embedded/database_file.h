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

// Creates the file if there is none, checks it if there is, and brings its tables up to date.
// kInvalid, with a sentence for the operator, if that cannot be.
Result<void> PrepareDatabase(const EmbeddedOptions& options);

// A connection set up for the one writer, or for a reader. Throws SqliteError.
Connection OpenWriter(const EmbeddedOptions& options);
Connection OpenReader(const EmbeddedOptions& options);

}  // namespace takt::internal::embedded
