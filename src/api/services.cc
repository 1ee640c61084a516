#include "api/services.h"

#include "api/answer_headers.h"
#include "api/audit.h"
#include "api/execution_reads.h"
#include "api/execution_waits.h"
#include "api/passed_on.h"
#include "api/refusals.h"
#include "metrics/meters.h"

namespace takt::internal {
namespace {

// Callbacks and logs bring their own token; one that is wrong or of the past is worth a line.
bool IsRefusedStranger(const Route& route, int status) {
    return route.permission == Permission::kNone && route.method != HttpMethod::kGet &&
           (status == 401 || status == 403 || status == 409);
}

std::string WhyNobodyLeads(const NodeStatus& status) {
    if (status.trouble.empty()) return "no scheduler leads at the moment; try again in a second";
    return "no scheduler leads: " + status.trouble;
}

}  // namespace

Services::Services(std::shared_ptr<Gate> of_gate, RealmParts parts)
    : RealmParts(std::move(parts)),
      gate(std::move(of_gate)),
      store(gate->store),
      rows(gate->store, partition),
      config(gate->config),
      home(gate->home),
      post(gate->post),
      access(gate->access),
      random(gate->random),
      reads(std::make_shared<ExecutionReads>()),
      waits(std::make_shared<ExecutionWaits>()) {}

void Call::Send(HttpResponse response) {
    services_->meters.CountRequest(response.status);
    if (IsAudited(*route_)) {
        LogChange(*route_, request_, who_, response.websocket ? 101 : response.status);
    } else if (IsRefusedStranger(*route_, response.status)) {
        // 409: the token is an attempt's of this execution, and that one is over.
        LogRefusal(request_, who_, response.status,
                   response.status == 409 ? "its attempt is over" : "its token does not fit");
    }
    CountRefusal(services_, {*route_, request_, who_, response.status});
    if (!who_.token_id.empty()) EndWithToken(response, services_->gate, who_.token_id);
    GuardAnswer(response, request_);
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
                            .detail = WhyNobodyLeads(status),
                            .retry_after_seconds = 1});
    }
    if (IsAudited(call.route())) {
        LogPassedOn(call.route(), call.request(), call.who(), status.leader->node.view());
    }
    HttpRequest request = std::move(call.request());
    request.headers.Add(kForwarded, ForwardedBy(status, request));
    forward(std::move(request), status.leader->address, call.TakeReply());
}

}  // namespace takt::internal
