// The routes of each resource. Together they are the route table.
#pragma once

#include <vector>

#include "api/route.h"

namespace takt::internal {

void AddTaskRoutes(std::vector<Route>& routes);
void AddTaskActionRoutes(std::vector<Route>& routes);
void AddTaskValidationRoutes(std::vector<Route>& routes);
void AddBulkRoutes(std::vector<Route>& routes);
void AddExecutionRoutes(std::vector<Route>& routes);
void AddExecutionCountRoutes(std::vector<Route>& routes);
void AddRunRoutes(std::vector<Route>& routes);
void AddBackfillRoutes(std::vector<Route>& routes);
void AddExplainRoutes(std::vector<Route>& routes);
void AddLogRoutes(std::vector<Route>& routes);
void AddExecutionActionRoutes(std::vector<Route>& routes);
void AddWorkerRoutes(std::vector<Route>& routes);
void AddQueueRoutes(std::vector<Route>& routes);
void AddDefinitionRoutes(std::vector<Route>& routes);
void AddOwnerRoutes(std::vector<Route>& routes);
void AddLockRoutes(std::vector<Route>& routes);
void AddSchedulerRoutes(std::vector<Route>& routes);
void AddComingFireRoutes(std::vector<Route>& routes);
void AddMetricsRoutes(std::vector<Route>& routes);
void AddAlertRoutes(std::vector<Route>& routes);
void AddAlertRuleRoutes(std::vector<Route>& routes);
void AddAlertChannelRoutes(std::vector<Route>& routes);
void AddStatisticsRoutes(std::vector<Route>& routes);
void AddEventRoutes(std::vector<Route>& routes);
void AddNamespaceRoutes(std::vector<Route>& routes);
void AddTokenRoutes(std::vector<Route>& routes);
void AddAuditRoutes(std::vector<Route>& routes);
void AddRefusalRoutes(std::vector<Route>& routes);
void AddMeRoutes(std::vector<Route>& routes);
void AddSignInRoutes(std::vector<Route>& routes);
void AddDocsRoutes(std::vector<Route>& routes);

}  // namespace takt::internal
