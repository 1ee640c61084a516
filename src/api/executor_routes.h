// The routes of HTTP executors: register, heartbeat, list, get, status, remove, callback.
#pragma once

#include <vector>

#include "api/route.h"

namespace takt::internal {

std::vector<Route> ExecutorRoutes();

}  // namespace takt::internal
