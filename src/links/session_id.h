// Where sessions get their numbers.
#pragma once

#include "engine/input.h"

namespace takt::internal {

// Rises; never 0. One source for every kind of link, since the engine tells sessions apart by
// number alone and effects name nothing else. From any thread.
SessionId NewSessionId();

}  // namespace takt::internal
