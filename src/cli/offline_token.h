// Makes an access token in a store that no scheduler uses, for the first administrator.
#pragma once

#include <string>

#include "api/token_request.h"
#include "base/error.h"

namespace takt::internal::cli {

// Leads for a moment, so that the write is fenced like any other. kConflict, naming it, while a
// scheduler leads: it must be asked instead.
Result<NewToken> CreateOfflineToken(const std::string& store_url, TokenRequest wanted);

}  // namespace takt::internal::cli
