// takt store check and repair: what is wrong with a store, in its file or in its rows, and mending it.
#pragma once

#include <string>

#include "base/error.h"

namespace takt::internal::cli {

// The exit code: kFailed if there is a fault. An error if the store cannot be read.
Result<int> CheckGiven(const std::string& url, bool as_json);

// Tells what would be mended, and with `yes` mends it. kFailed if something is left to mend, or was
// lost.
Result<int> RepairGiven(const std::string& url, bool yes);

}  // namespace takt::internal::cli
