// Asks a store and waits for the answer, for who has no loop.
#pragma once

#include <future>
#include <utility>

#include "base/error.h"

namespace takt::internal {

//     const auto nodes = AskStore<std::vector<NodeRow>>(
//         [&](auto done) { store.Nodes(std::move(done)); });
//
// Bounded by the backend's own deadline.
template <typename T, typename Ask>
Result<T> AskStore(Ask ask) {
    std::promise<Result<T>> promise;
    auto future = promise.get_future();
    ask([&promise](Result<T> result) { promise.set_value(std::move(result)); });
    return future.get();
}

}  // namespace takt::internal
