// Shrinking: of a seed that fails, the fewest faults and client steps with which it still does.
#pragma once

#include <string>

#include "sim/simulation.h"

namespace takt::internal::sim {

// Two violations are the same if they differ in numbers only: of ids, attempts, times.
bool SameViolation(const std::string& a, const std::string& b);

struct Shrunk {
    SimulationOptions options;  // With as much left out as can be.
    SimulationResult result;    // What they give: the same violation as before.
    std::size_t simulations = 0;
};

// Leaves out ever smaller groups of faults and steps, as long as the violation stays the same; each
// is tried with at most `simulations_max` simulations in all.
// REQUIRES: Simulate(options).failure is `failure`, and not empty.
Shrunk Shrink(SimulationOptions options, const std::string& failure, std::size_t simulations_max);

}  // namespace takt::internal::sim
