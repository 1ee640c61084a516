// Files with secrets in them.
#pragma once

#include <string>

#include "base/error.h"

namespace takt::internal::cli {

// A file that is there whole or as it was before, and its owner's alone from the start. Makes
// its folder too. kInvalid says why it cannot.
Result<void> WritePrivateFile(const std::string& path, const std::string& text);

}  // namespace takt::internal::cli
