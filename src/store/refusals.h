// Refusals that stores say in the same words.
#pragma once

#include "base/error.h"

namespace takt::internal {

inline std::unexpected<Error> DefaultIsKept() {
    return Fail(ErrorCode::kInvalid, "the default partition cannot be dropped");
}

}  // namespace takt::internal
