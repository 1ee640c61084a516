// PushLink's questions to the node, and words that it has in several files: how it refuses, and where
// it keeps that an executor is offline.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/id.h"
#include "node/home.h"
#include "node/node.h"

namespace takt::internal {

// The node's answer to `input`, after the commit.
template <typename Input>
auto Asked(const Home& home, Node& node, Input input) {
    return home.Wait<Result<Answer>>([&node, input = std::move(input)](auto done) mutable {
        node.Ask(std::move(input), std::move(done));
    });
}

// The engine, for the rest of the turn; null: this node does not lead.
inline auto Looked(const Home& home, Node& node) {
    return home.Wait<const Engine*>([&node](auto done) { node.Look(std::move(done)); });
}

// Of the settings that remember which executors an operator declared offline.
constexpr std::string_view kOfflinePrefix = "executor-offline/";

inline Text OfflineKey(const WorkerId& id) {
    return Text(std::string(kOfflinePrefix) + id.text().str());
}

inline std::unexpected<Error> NotLeading() {
    return Fail(ErrorCode::kUnavailable, "this scheduler does not lead, or has only just begun to");
}

inline std::unexpected<Error> NoExecutor(const WorkerId& id) {
    return Fail(ErrorCode::kNotFound, "there is no executor '" + id.text().str() + "'", "id");
}

// The node refused the rest of something of which a part may be done: the caller must not take that
// for undone.
inline std::unexpected<Error> PartlyDone(const Error& refused) {
    const bool undone =
        refused.code == ErrorCode::kUnavailable || refused.code == ErrorCode::kExhausted;
    if (!undone) return std::unexpected(refused);
    return Fail(ErrorCode::kUnknown,
                "some of it may have been done, say it again: " + refused.detail);
}

}  // namespace takt::internal
