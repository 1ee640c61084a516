// Workers, queues and the scheduler as people see them; for takt workers, queues, status and top.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "cli/output.h"

namespace takt::internal::cli {

// Of a page {"items": […]}.
Table WorkerTable(const boost::json::value& page);
Table QueueTable(const boost::json::value& page);

std::string StatusText(const boost::json::value& status);
// Of GET /api/v1/metrics, in one or two lines.
std::string MetricsText(const boost::json::value& metrics);

}  // namespace takt::internal::cli
