// Asks a store and waits for the answer, for commands without a loop.
#pragma once

#include <future>
#include <utility>

#include "base/error.h"

namespace takt::internal::cli {

//   const auto nodes = Wait<std::vector<NodeRow>>([&](auto done) { store.Nodes(std::move(done));
//   });
//
// Bounded by the backend's own deadline.
template <typename T, typename Ask>
Result<T> Wait(Ask ask) {
    std::promise<Result<T>> promise;
    auto future = promise.get_future();
    ask([&promise](Result<T> result) { promise.set_value(std::move(result)); });
    return future.get();
}

}  // namespace takt::internal::cli
