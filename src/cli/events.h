// Events as people see them.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/client.h"

namespace takt::internal::cli {

// "2026-11-15 03:46:17.648  task.failed  nightly …": time, type, whom it is about, what was said.
std::string EventLine(const boost::json::value& event);

// The events that the leader remembers, oldest first; the query may have type, task_id, worker_id.
Result<std::vector<boost::json::value>> PastEvents(Client& client, Query query);

}  // namespace takt::internal::cli
