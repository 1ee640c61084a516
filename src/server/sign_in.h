// Signing in as the configuration has it.
#pragma once

#include <memory>
#include <string>

#include "api/sessions.h"
#include "base/error.h"
#include "config/config.h"
#include "signin/provider.h"

namespace takt::internal {

// Null if nobody can sign in. kInvalid names the key that is wrong.
Result<std::shared_ptr<const Sessions>> MakeSessions(const Config::SignIn& config);

// REQUIRES: MakeSessions made some. `address` is where this scheduler is reached.
Result<ProviderOptions> ProviderOf(const Config::SignIn& config, const std::string& address);

}  // namespace takt::internal
