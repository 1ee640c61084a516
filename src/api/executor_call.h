// Routes whose handlers need the link to executors.
#pragma once

#include <type_traits>
#include <utility>
#include <vector>

#include "api/route.h"
#include "api/services.h"
#include "base/flow.h"
#include "links/push_link.h"

namespace takt::internal {

// A handler answers a call, at once or as a flow.
template <typename Handler>
void AddExecutorRoute(std::vector<Route>& routes, Route route, Handler handler) {
    route.where = Where::kLeader;
    route.handler = [handler](Call call) {
        PushLink& link = *call.services().push_link;
        if constexpr (std::is_void_v<decltype(handler(link, std::move(call)))>) {
            handler(link, std::move(call));
        } else {
            Launch(handler(link, std::move(call)));
        }
    };
    routes.push_back(std::move(route));
}

// How executors tell, by calls of their own, what became of an execution.
void AddExecutorCallbackRoutes(std::vector<Route>& routes);

}  // namespace takt::internal
