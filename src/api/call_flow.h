// Calls that wait: for the engine, the store, the node.
//
//     Flow<> GetTask(Call call) {
//         const auto row = co_await Answered<Result<TaskRow>>(
//             call, [&](auto done) { call.services().rows.FindTask(id, std::move(done)); });
//         if (!row) co_return call.RefuseAnswer(row.error());
//         …
//     }
//     .handler = Flowing(GetTask)
//
// A handler that waits once takes a callback; one that waits more than once is a Flow and reads
// from top to bottom. A flow runs on the server's thread; it owns its call.
#pragma once

#include <memory>
#include <utility>

#include "api/services.h"
#include "base/flow.h"
#include "node/node.h"

namespace takt::internal {

inline Error LeaderChanged() {
    return {ErrorCode::kUnavailable, "the leader has just changed", ""};
}

// The same after a change that is stored. Whoever heard that nothing was done would say it again, and
// change what somebody else has made of it since.
inline Error DoneButNotShown() {
    return {ErrorCode::kUnknown, "the leader has changed since it was done", ""};
}

// Waits for the answer that `start` is given a callback for. The callback may be called on any
// thread; the flow goes on where it was.
template <typename V, typename Start>
auto Answered(const Call& call, Start start) {
    return call.services().home.template Wait<V>(std::move(start));
}

// The answer of the engine to `input`, after the commit.
template <typename Input>
auto Asked(const Call& call, Input input) {
    return Answered<Result<Answer>>(
        call, [&node = call.services().node, input = std::move(input)](auto done) mutable {
            node.Ask(std::move(input), std::move(done));
        });
}

// The value that `look` finds in the engine, on the node's thread; kUnavailable if this node has
// just ceased to lead.
template <typename V, typename Look>
auto Looked(const Call& call, Look look) {
    return Answered<Result<V>>(call, [&node = call.services().node,
                                      look = std::move(look)](auto done) mutable {
        node.Look([look = std::move(look), done = std::move(done)](const Engine* engine) mutable {
            done(engine ? Result<V>(look(*engine)) : std::unexpected(LeaderChanged()));
        });
    });
}

// A handler that is a flow.
inline RouteHandler Flowing(Flow<> (*handler)(Call)) {
    return [handler](Call call) { Launch(handler(std::move(call))); };
}

// Runs `look` on the node's thread with the call and the engine; refuses the call, with `not_there`, if
// this node has just ceased to lead.
template <typename Look>
void WithEngine(Call call, Look look, Error not_there = LeaderChanged()) {
    Node& node = call.services().node;
    node.Look([call = std::move(call), look = std::move(look),
               not_there = std::move(not_there)](const Engine* engine) mutable {
        if (!engine) return call.RefuseAnswer(not_there);
        look(std::move(call), *engine);
    });
}

}  // namespace takt::internal
