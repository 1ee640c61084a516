// Between what users of the library see and what it is made of.
#pragma once

#include <utility>

#include "base/error.h"
#include "takt/error.h"

namespace takt {

Error ErrorOf(const internal::Error& error);

// An internal result as the library gives it.
template <typename T>
Result<T> ResultOf(internal::Result<T> result) {
    if (!result) return ErrorOf(result.error());
    if constexpr (!std::is_void_v<T>) {
        return std::move(*result);
    } else {
        return {};
    }
}

}  // namespace takt
