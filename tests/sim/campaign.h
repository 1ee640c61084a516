// Campaign: a range of seeds that several processes simulate, told of in order.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/simulation.h"

namespace takt::internal::sim {

struct SeedRange {
    std::uint64_t first = 1;
    std::uint64_t count = 100;
};

// Hears what came of a seed; false if the seeds behind it are not wanted any more.
using TellSeed = std::function<bool(std::uint64_t seed, const SimulationResult& result)>;

// Simulates the seeds in so many processes. `tell` hears of each in rising order, as if there were one.
// False if a process could not be started, or died: of the seed that killed it, and of those behind, it
// is not told, and the error output says which it was.
bool RunCampaign(const SimulationOptions& options, const SeedRange& seeds, std::uint64_t jobs,
                 const TellSeed& tell);

}  // namespace takt::internal::sim
