#include "api/services.h"

#include "api/answer_headers.h"
#include "api/audit.h"
#include "api/execution_reads.h"
#include "api/execution_waits.h"
#include "api/refusals.h"
#include "metrics/meters.h"

namespace takt::internal {
namespace {

// Callbacks and logs bring their own token; one that is wrong or of the past is worth a line.
bool IsRefusedStranger(const Route& route, int status) {
    return route.permission == Permission::kNone && route.method != HttpMethod::kGet &&
           (status == 401 || status == 403 || status == 409);
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

}  // namespace takt::internal
