// Watch: a list that is shown again when it has changed, for -w.
#pragma once

#include <functional>

#include "base/error.h"

namespace takt::internal::cli {

// Calls `show`, which prints, each second until q, ctrl-C or a signal. On a terminal the screen is
// redrawn, else each new state is printed behind the last. A scheduler that is away for a while does
// not end it. The exit code.
int WatchOutput(const std::function<Result<int>()>& show);

}  // namespace takt::internal::cli
