#include "server/routes.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "api/audit.h"
#include "api/refusals.h"
#include "api/services.h"
#include "links/stream_link.h"

namespace takt::internal {
namespace {

// A token that holds, but not for the worker that came with it, is written down like one that is not
// for an address.
std::function<void(const std::string& why)> RefusalOf(const Call& call) {
    HttpRequest request{.method = call.request().method,
                        .path = call.request().path,
                        .raw_path = call.request().raw_path,
                        .remote_address = call.request().remote_address,
                        .request_id = call.request().request_id};
    return [weak = std::weak_ptr(call.shared_services()), &route = call.route(), who = call.who(),
            request = std::move(request)](const std::string& why) {
        const auto services = weak.lock();
        if (!services) return;
        LogRefusal(request, who, 403, why);
        CountRefusal(services, {route, request, who, 403});
    };
}

}  // namespace

Route AttachRoute() {
    return {.method = HttpMethod::kGet,
            .path = "/api/v1/workers/attach",
            .permission = Permission::kWorker,
            .where = Where::kAnyNode,
            .handler =
                [](Call call) {
                    const TokenBounds& bounds = call.who().bounds;
                    AttachBounds held{bounds.worker_ids, bounds.queues, bounds.types};
                    held.on_foreign = RefusalOf(call);
                    HttpResponse response =
                        call.services().stream_link->Attach(call.request(), std::move(held));
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
