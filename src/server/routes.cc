#include "server/routes.h"

#include "api/services.h"
#include "links/stream_link.h"

namespace takt::internal {

Route AttachRoute() {
    return {.method = HttpMethod::kGet,
            .path = "/api/v1/workers/attach",
            .permission = Permission::kWorker,
            .where = Where::kAnyNode,
            .handler =
                [](Call call) {
                    const TokenBounds& bounds = call.who().bounds;
                    HttpResponse response = call.services().stream_link->Attach(
                        call.request(), {bounds.worker_ids, bounds.queues, bounds.types});
                    call.Send(std::move(response));
                },
            .tag = "workers",
            .summary = "Opens a worker's session (WebSocket; see the worker protocol)",
            .success = 101,
            // The link tells who is taken in; while nobody leads, all come several times a second.
            .routine = true,
            .opens_session = true};
}

}  // namespace takt::internal
