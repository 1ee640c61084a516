// A SchedulerOptions as the configuration of a server.
#pragma once

#include "config/config.h"
#include "takt/scheduler.h"

namespace takt {

// kInvalid names the option at fault. What contradicts itself is found later, by CheckConfig.
internal::Result<internal::Config> ConfigOf(const SchedulerOptions& options);

// A key of the configuration is called as the option that sets it.
Error InOptionNames(Error error, const SchedulerOptions& options);

}  // namespace takt
