// Passes calls on to the leader over HTTP.
#pragma once

#include <memory>

#include "api/leader_reach.h"
#include "api/services.h"
#include "http/client.h"

namespace takt::internal {

// The client must outlive what it returns, and must be willing to reach every scheduler. `reach` is
// told how the calls go.
Forward ForwardOver(HttpClient& client, std::shared_ptr<LeaderReach> reach);

// The same for server-sent events, which are handed on as they come until either side ends them.
// Each takes a connection for as long as it lasts: the client should be one of its own, and must
// run on the server's loop.
Forward StreamOver(HttpClient& client);

}  // namespace takt::internal
