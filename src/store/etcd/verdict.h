// Verdict: what a failed call to etcd means for the caller, told from gRPC's code and etcd's words.
#pragma once

#include "base/error.h"
#include "store/etcd/channel.h"

namespace takt::internal::etcd {

struct Verdict {
    enum class Next : std::uint8_t {
        kStop,      // Trying again does not help: `error` is the answer.
        kAgain,     // Try again after a pause.
        kMoveOn,    // Try again with another member.
        kNewToken,  // Try again with a new token.
    };
    Next next = Next::kStop;
    bool maybe_applied = false;
    Error error;
};

// REQUIRES: !status.ok().
Verdict Judge(const RpcStatus& status);

}  // namespace takt::internal::etcd
