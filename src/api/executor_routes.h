// The routes of HTTP executors: register, heartbeat, list, get, status, remove, callback.
#pragma once

#include <vector>

#include "api/route.h"

namespace takt::internal {

class PushLink;

// Without a link they can be described, but not called.
std::vector<Route> ExecutorRoutes(PushLink* link);

}  // namespace takt::internal
