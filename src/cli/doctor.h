// The parts of takt doctor that look at work (who is there to do it, what nobody could do) and at room
// (how much is kept, how it grows, what bounds it).
#pragma once

#include <boost/json/value.hpp>

#include "base/error.h"
#include "cli/checkup.h"
#include "cli/client.h"

namespace takt::internal::cli {

// Workers, queues that nobody serves, recurring tasks that no worker could run.
Result<void> CheckFleet(Client& client, Checkup& checkup);

Result<void> CheckAlerts(Client& client, Checkup& checkup);

// As the API has them.
struct ClusterAnswers {
    const boost::json::value& status;
    const boost::json::value& spaces;
};
// Retention against size: how full the store is, how much is added each day, and what comes first, the
// end of what is kept or the end of the room.
Result<void> CheckRoom(const ClientOptions& options, const ClusterAnswers& cluster,
                       Checkup& checkup);

void CheckQuotas(const ClientOptions& options, const boost::json::value& spaces, Checkup& checkup);

}  // namespace takt::internal::cli
