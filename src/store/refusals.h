// Refusals that stores say in the same words.
#pragma once

#include "base/error.h"

namespace takt::internal {

inline std::unexpected<Error> DefaultIsKept() {
    return Fail(ErrorCode::kInvalid, "the default partition cannot be dropped");
}

inline std::unexpected<Error> LedSince() {
    return Fail(ErrorCode::kConflict, "somebody has led the partition since it was to be dropped");
}

}  // namespace takt::internal
