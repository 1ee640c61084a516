// LookOver: one look at everything in a store. Beside a scheduler one is not enough, see CheckStore.
#pragma once

#include <set>

#include "archive/store_check.h"

namespace takt::internal {

struct LookedOver {
    StoreFaults found;
    std::set<Partition> read;  // Those whose indexes are right: their rows were looked at.
};

Result<LookedOver> LookOver(Store& store, const TransferProgress& progress);

}  // namespace takt::internal
