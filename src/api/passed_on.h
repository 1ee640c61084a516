// A call that one scheduler passes on to another: for whom, so that the audit names who asked and not
// the scheduler in between.
//
// The header is signed with the term of the leader that the call goes to. Nobody knows its nonce but
// who can read the store, so what anybody else writes there is not believed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"
#include "node/node.h"

namespace takt::internal {

// Set by a node that passes a call on; a call is passed on once only.
//     X-Takt-Forwarded: node-b 10.0.0.7 5f0c…
constexpr std::string_view kForwarded = "X-Takt-Forwarded";

// The header's value for a request that this node passes on to the leader that it sees.
// REQUIRES: status.leader.
std::string ForwardedBy(const NodeStatus& status, const HttpRequest& request);

struct PassedFor {
    std::string node;     // The scheduler that passed it on.
    std::string address;  // The caller's, as that one saw it.
};
// Nothing if the caller came here itself, or only says that it did not.
std::optional<PassedFor> ReadForwarded(const NodeStatus& status, const HttpRequest& request);

}  // namespace takt::internal
