// Asks a store and waits for the answer, for callers that have no loop.
#pragma once

#include <future>
#include <utility>

#include "base/error.h"
#include "base/time.h"
#include "store/store.h"

namespace takt::internal {

// Begins an operation; its answer can be waited for.
//
//   auto nodes = BeginAsk<std::vector<NodeRow>>([&](auto done) { store.Nodes(std::move(done)); });
template <typename T, typename Ask>
std::future<Result<T>> BeginAsk(Ask ask) {
    std::promise<Result<T>> promise;
    auto answer = promise.get_future();
    ask(Done<T>([promise = std::move(promise)](Result<T> result) mutable {
        promise.set_value(std::move(result));
    }));
    return answer;
}

// As BeginAsk, and waits; bounded by the backend's own deadline.
template <typename T, typename Ask>
Result<T> AskStore(Ask ask) {
    return BeginAsk<T>(std::move(ask)).get();
}

// As AskStore, but waits no longer than that: kUnavailable then.
template <typename T, typename Ask>
Result<T> AskStoreFor(Duration patience, Ask ask) {
    auto answer = BeginAsk<T>(std::move(ask));
    if (answer.wait_for(patience) == std::future_status::ready) return answer.get();
    return Fail(ErrorCode::kUnavailable,
                "the store has not answered for " + FormatDuration(patience));
}

}  // namespace takt::internal
