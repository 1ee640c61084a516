// Growth: which inputs bring a store more than it has. One that is full refuses these, and takes
// everything that ends, deletes, pauses or bounds something, or makes it no larger.
//
// Not among them is what is bounded in number and size: settings of tokens, alerts, queues, locks
// and namespaces, workers that join; and the fires, results and logs of what is there already.
#pragma once

#include "engine/engine.h"
#include "engine/input.h"

namespace takt::internal {

// REQUIRES: the engine has begun.
bool Grows(const Input& input, const Engine& engine);

}  // namespace takt::internal
