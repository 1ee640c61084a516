// Passes calls on to the leader over HTTP.
#pragma once

#include <memory>

#include "api/services.h"
#include "http/client.h"

namespace takt::internal {

// The client must outlive what it returns, and must be willing to reach every scheduler.
Forward ForwardOver(HttpClient& client);

}  // namespace takt::internal
