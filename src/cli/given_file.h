// The content of a file that a command is given.
#pragma once

#include <string>

#include "base/error.h"

namespace takt::internal::cli {

// "-" is standard input. kInvalid, naming it, if it cannot be read or is a directory.
Result<std::string> ReadGivenFile(const std::string& path);

}  // namespace takt::internal::cli
