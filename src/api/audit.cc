#include "api/audit.h"

#include <string>

#include "base/log.h"

namespace takt::internal {

bool IsAudited(const Route& route) {
    return (route.method != HttpMethod::kGet || route.opens_session) &&
           route.permission != Permission::kNone && route.permission != Permission::kViewer;
}

void AuditChange(const Route& route, const HttpRequest& request, const Principal& who, int status) {
    Log(route.routine ? LogLevel::kDebug : LogLevel::kInfo, "audit", "change",
        {{"who", who.name},
         {"token", who.token_id},
         {"method", Name(request.method)},
         {"path", request.path},
         {"status", status},
         {"ip", request.remote_address},
         {"request_id", request.request_id}});
}

void AuditPassedOn(const Route& route, const HttpRequest& request, const Principal& who,
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

void AuditRefusal(const HttpRequest& request, const Principal& who, const Problem& problem) {
    AuditRefusal(request, who, problem.status, problem.detail);
}

void AuditRefusal(const HttpRequest& request, const Principal& who, int status,
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
