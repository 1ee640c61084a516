// The part of takt doctor that looks at work: who is there to do it, and what nobody could do.
#pragma once

#include "base/error.h"
#include "cli/checkup.h"
#include "cli/client.h"

namespace takt::internal::cli {

// Workers, queues that nobody serves, recurring tasks that no worker could run.
Result<void> CheckFleet(Client& client, Checkup& checkup);

Result<void> CheckAlerts(Client& client, Checkup& checkup);

}  // namespace takt::internal::cli
