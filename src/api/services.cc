#include "api/services.h"

#include "api/meters.h"
#include "base/log.h"

namespace takt::internal {

void Call::Send(HttpResponse response) {
    services_->meters.CountRequest(response.status);
    // Changes and refusals, whoever asked: what an operator wants to read after an incident.
    if (IsChange(*route_)) {
        Log(route_->routine ? LogLevel::kDebug : LogLevel::kInfo, "audit", "change",
            {{"who", who_.name},
             {"token", who_.token_id},
             {"method", Name(request_.method)},
             {"path", request_.path},
             {"status", response.status},
             {"ip", request_.remote_address},
             {"request_id", request_.request_id}});
    }
    // Answers are of the moment and may be secret.
    response.headers.emplace_back("Cache-Control", "no-store");
    reply_(std::move(response));
}

}  // namespace takt::internal
