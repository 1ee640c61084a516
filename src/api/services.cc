#include "api/services.h"

#include "base/log.h"
#include "metrics/meters.h"

namespace takt::internal {
namespace {

// Set by a node that passes a call on; a call is passed on once only.
constexpr std::string_view kForwarded = "X-Takt-Forwarded";

// Callbacks and logs bring their own token; one that is wrong or of the past is worth a line.
bool IsRefusedStranger(const Route& route, int status) {
    return route.permission == Permission::kNone && route.method != HttpMethod::kGet &&
           (status == 401 || status == 403 || status == 409);
}

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
    } else if (IsRefusedStranger(*route_, response.status)) {
        Log(LogLevel::kWarning, "audit", "refused",
            {{"method", Name(request_.method)},
             {"path", request_.path},
             {"status", response.status},
             {"ip", request_.remote_address},
             {"request_id", request_.request_id}});
    }
    if (!who_.token_id.empty()) EndWithToken(response, services_, who_.token_id);
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
    if (IsChange(call.route())) {
        // The leader sees this node's address only; the request id joins its line to this one.
        Log(call.route().routine ? LogLevel::kDebug : LogLevel::kInfo, "audit", "passed on",
            {{"who", call.who().name},
             {"token", call.who().token_id},
             {"method", Name(call.request().method)},
             {"path", call.request().path},
             {"to", status.leader->node.view()},
             {"ip", call.request().remote_address},
             {"request_id", call.request().request_id}});
    }
    HttpRequest request = std::move(call.request());
    request.headers.Add(kForwarded, status.node.view());
    forward(std::move(request), status.leader->address, call.TakeReply());
}

}  // namespace takt::internal
