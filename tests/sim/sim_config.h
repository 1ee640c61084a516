// The configuration of the nodes of a simulation: short times, so that everything comes often; and the
// things that they are told to do wrong, for tests of the tests.
#pragma once

#include "node/node.h"
#include "sim/simulation.h"

namespace takt::internal::sim {

NodeConfig MakeConfig(const SimulationOptions& options);

}  // namespace takt::internal::sim
