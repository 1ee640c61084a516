// OpenAPI: the description of the API, made from the route table and the table of task fields.
#pragma once

#include <string>
#include <string_view>

#include "api/route.h"

namespace takt::internal {

// The name of a route, there and in the audit: "post /api/v1/tasks/{id}/trigger" is
// "post_v1_tasks_id_trigger".
std::string OperationId(const Route& route);

// An OpenAPI 3.1 document.
std::string OpenApiOf(const RouteTable& routes, std::string_view version);

}  // namespace takt::internal
