// Makes an access token in a store that no scheduler uses, for the first administrator.
#pragma once

#include <string>

#include "api/access.h"
#include "base/error.h"

namespace takt::internal::cli {

struct OfflineToken {
    std::string store;  // URL.
    std::string name;
    AccessRole role{};
    Duration lifetime{0};  // 0: for ever.
};

// Leads for a moment, so that the write is fenced like any other. kConflict, naming it, while a
// scheduler leads: it must be asked instead.
Result<NewToken> CreateOfflineToken(const OfflineToken& what);

}  // namespace takt::internal::cli
