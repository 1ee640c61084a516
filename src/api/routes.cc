// The route table. Executors and the workers' WebSocket are added by the links, through
// ApiParts::more_routes.
#include "api/api.h"
#include "api/resources.h"

namespace takt::internal {

std::vector<Route> ApiRoutes() {
    std::vector<Route> routes;
    AddTaskRoutes(routes);
    AddTaskActionRoutes(routes);
    AddTaskValidationRoutes(routes);
    AddBulkRoutes(routes);
    AddExecutionRoutes(routes);
    AddExecutionCountRoutes(routes);
    AddRunRoutes(routes);
    AddBackfillRoutes(routes);
    AddExplainRoutes(routes);
    AddLogRoutes(routes);
    AddExecutionActionRoutes(routes);
    AddWorkerRoutes(routes);
    AddQueueRoutes(routes);
    AddDefinitionRoutes(routes);
    AddOwnerRoutes(routes);
    AddLockRoutes(routes);
    AddSchedulerRoutes(routes);
    AddComingFireRoutes(routes);
    AddMetricsRoutes(routes);
    AddAlertRoutes(routes);
    AddAlertRuleRoutes(routes);
    AddAlertChannelRoutes(routes);
    AddStatisticsRoutes(routes);
    AddEventRoutes(routes);
    AddNamespaceRoutes(routes);
    AddTokenRoutes(routes);
    AddAuditRoutes(routes);
    AddRefusalRoutes(routes);
    AddMeRoutes(routes);
    AddSignInRoutes(routes);
    AddDocsRoutes(routes);
    return routes;
}

}  // namespace takt::internal
