// Workers, executors, queues and the scheduler as people see them.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "cli/client.h"
#include "cli/output.h"

namespace takt::internal::cli {

// Of a page {"items": […]}.
Table WorkerTable(const boost::json::value& page);
Table ExecutorTable(const boost::json::value& page);
Table QueueTable(const boost::json::value& page);

// Prints a page as a table; if there is nothing in it, says `none` on standard error.
Result<int> ShowPage(const ClientOptions& options, const Result<ClientAnswer>& page,
                     Table (*table_of)(const boost::json::value&), const char* none);

// Prints what became of one of them: its status, or that it was removed.
Result<int> ShowChange(const ClientOptions& options, const std::string& id,
                       const Result<ClientAnswer>& answer);

std::string StatusText(const boost::json::value& status);
// Of GET /api/v1/scheduler/strategy: the one in force and those that there are.
std::string StrategyText(const boost::json::value& strategy);
// Of GET /api/v1/scheduler/defaults, in three lines.
std::string DefaultsText(const boost::json::value& defaults);
// Of GET /api/v1/metrics, in one or two lines.
std::string MetricsText(const boost::json::value& metrics);

}  // namespace takt::internal::cli
