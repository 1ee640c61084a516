#include "api/audit.h"

#include <string>
#include <utility>

#include "api/openapi.h"
#include "api/passed_on.h"
#include "api/services.h"
#include "base/log.h"

namespace takt::internal {

Act MakeAct(const Services& realm, const Route& route, const HttpRequest& request,
            const Principal& who) {
    const auto passed = ReadForwarded(realm.node.status(), request);
    return {.who = who.token_id.empty() ? std::string(kOpenAct) : who.name,
            .token_id = who.token_id,
            .role = std::string(who.role ? Name(*who.role) : ""),
            .action = OperationId(route),
            .space = realm.name,
            .address = passed ? passed->address : request.remote_address,
            .via = passed ? passed->node : std::string(),
            .request_id = request.request_id};
}

ActPtr ActOf(const Call& call, AuditChange change) {
    Act act = MakeAct(call.services(), call.route(), call.request(), call.who());
    act.change = std::move(change);
    return std::make_shared<const Act>(std::move(act));
}

bool IsAudited(const Route& route) {
    return (route.method != HttpMethod::kGet || route.opens_session) &&
           route.permission != Permission::kNone && route.permission != Permission::kViewer;
}

void LogChange(const Route& route, const HttpRequest& request, const Principal& who, int status) {
    Log(route.routine ? LogLevel::kDebug : LogLevel::kInfo, "audit", "change",
        {{"who", who.name},
         {"token", who.token_id},
         {"method", Name(request.method)},
         {"path", request.path},
         {"status", status},
         {"ip", request.remote_address},
         {"request_id", request.request_id}});
}

void LogPassedOn(const Route& route, const HttpRequest& request, const Principal& who,
                 std::string_view to) {
    Log(route.routine ? LogLevel::kDebug : LogLevel::kInfo, "audit", "passed on",
        {{"who", who.name},
         {"token", who.token_id},
         {"method", Name(request.method)},
         {"path", request.path},
         {"to", to},
         {"ip", request.remote_address},
         {"request_id", request.request_id}});
}

void LogRefusal(const HttpRequest& request, const Principal& who, const Problem& problem) {
    LogRefusal(request, who, problem.status, problem.detail);
}

void LogRefusal(const HttpRequest& request, const Principal& who, int status,
                std::string_view why) {
    // The log limits what repeats by component and message: each token has a message of its own.
    const std::string message =
        who.token_id.empty() ? "refused" : "refused the token " + who.token_id;
    Log(LogLevel::kWarning, "audit", message,
        {{"who", who.name},
         {"token", who.token_id},
         {"method", Name(request.method)},
         {"path", request.path},
         {"status", status},
         {"why", why},
         {"ip", request.remote_address},
         {"request_id", request.request_id}});
}

}  // namespace takt::internal
