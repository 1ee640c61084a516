#include "api/services.h"

#include "api/meters.h"
#include "base/log.h"

namespace takt::internal {
namespace {

// Set by a node that passes a call on; a call is passed on once only.
constexpr std::string_view kForwarded = "X-Takt-Forwarded";

}  // namespace

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

bool CanPassOn(const Call& call, const NodeStatus& status, const Forward& forward) {
    return forward && status.leader && status.leader->node != status.node &&
           !status.leader->address.empty() && !call.request().headers.Find(kForwarded);
}

void PassOn(Call call, const NodeStatus& status, const Forward& forward) {
    if (!CanPassOn(call, status, forward)) {
        return call.Refuse({.status = 503,
                            .code = "no_leader",
                            .detail = "no scheduler leads at the moment; try again in a second",
                            .retry_after_seconds = 1});
    }
    HttpRequest request = std::move(call.request());
    request.headers.Add(kForwarded, status.node.view());
    forward(std::move(request), status.leader->address, call.TakeReply());
}

}  // namespace takt::internal
