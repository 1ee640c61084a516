// How long a store waits for the answer to a renewal.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace takt::internal {

// A quarter of the ttl, so that one answer that stays out leaves time to ask again before the lease
// runs out. Not less than a loaded server needs.
inline Duration RenewalTime(Duration ttl) {
    constexpr Duration kLeast{500};
    return std::max({ttl / 4, std::min(ttl, kLeast), Duration(1)});
}

}  // namespace takt::internal
