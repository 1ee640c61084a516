// OpenAPI: the description of the API, made from the route table and the table of task fields.
#pragma once

#include <string>
#include <string_view>

#include "api/route.h"

namespace takt::internal {

// An OpenAPI 3.1 document.
std::string OpenApiOf(const RouteTable& routes, std::string_view version);

}  // namespace takt::internal
