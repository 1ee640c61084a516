// Handlers for trying things out: `takt worker --demo`.
#pragma once

#include "worker/handler.h"

namespace takt::internal {

// noop   does nothing
// echo   gives its payload back
// sleep  {"ms": 20} takes that long, unless it is stopped
// fail   {"times": 2} fails its first two attempts; without, always
// log    {"lines": 3} writes as many lines, with progress
// kConflict if one of the types is taken.
Result<void> AddDemoHandlers(HandlerRegistry& registry);

}  // namespace takt::internal
