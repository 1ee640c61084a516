// The embedded store's directory and files belong to their user alone: payloads, results, hashes of
// access tokens and the tokens of running attempts are in them.
#pragma once

#include <string>

#include "base/error.h"

namespace takt::internal::embedded {

// Makes the directory if there is none and takes from others what they may do with it and with the
// files of ours that are in it. A directory with files of somebody else's, or one in which everybody
// may write, stays as it is; the log warns of what cannot be made private. kInvalid if there is no
// such directory and it cannot be made.
Result<void> MakePrivate(const std::string& directory);

// Makes an empty file that only its user can read; SQLite gives its own beside it the same rights.
// Success also if it is there. kInvalid if it cannot be made.
Result<void> MakePrivateFile(const std::string& path);

// Gives a file the owner and the rights of another: an operator repairs as root what a service must
// read. kInvalid if this user may not.
Result<void> GiveLike(const std::string& path, const std::string& other);

// Takes from others what they may do with a file. Warns if that is not allowed.
void Tighten(const std::string& path);

}  // namespace takt::internal::embedded
