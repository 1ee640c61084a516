// Finds schedulers through the store that they share.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace takt::internal {

// Addresses of the schedulers that are alive. Waits a minute for the first one, so that a worker
// may be started before its scheduler; then kUnavailable.
Result<std::vector<std::string>> FindSchedulers(const std::string& store_url);

// The same, without waiting: none may be there.
Result<std::vector<std::string>> ListSchedulers(const std::string& store_url);

}  // namespace takt::internal
