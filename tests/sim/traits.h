// Traits: what a simulation has beyond what all have, each in some of the seeds: so others stay as
// simple as a failure allows, and each of them is met alone, too.
#pragma once

#include "sim/due_plan.h"
#include "sim/simulation.h"
#include "sim/world.h"

namespace takt::internal::sim {

struct Traits {
    bool kinds = false;       // Tasks ask for types, labels and groups; workers serve some of them.
    bool strategies = false;  // Workers are chosen by any strategy, which operators change.
    bool operators = false;   // They conclude executions, fill in due times, and set workers aside.
    const ZoneChange* zone = nullptr;  // Its clock is set within a minute from the beginning.
};

// Draws them, and with them when it begins, and what is configured otherwise: ageing, small steps,
// narrow leases, strategies.
Traits DrawTraits(World& world, const SimulationOptions& options, NodeConfig& config);

}  // namespace takt::internal::sim
