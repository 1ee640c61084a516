// Simulation: a cluster of schedulers, a database, workers and clients in one thread, from one
// seed. First everything may fail (safety), then everything heals and must come to its end
// (liveness).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace takt::internal::sim {

struct SimulationOptions {
    std::uint64_t seed = 1;
    std::size_t steps = 60;  // What clients do in the first phase.
    bool trace = false;      // Print what happens.
    bool quiet = false;      // Nothing fails, so that everything must run exactly once.

    // For tests of the tests: each breaks one promise.
    bool sabotage_no_fence = false;
    bool sabotage_accept_any_attempt = false;
    bool sabotage_forget_failures = false;
    bool sabotage_release_early = false;
};

struct SimulationResult {
    std::string failure;  // Empty: all held.
    std::uint64_t hash = 0;
    std::uint64_t events = 0;
    std::size_t executions = 0;
    std::size_t runs = 0;
    std::size_t commits = 0;
    std::size_t losses = 0;
};

SimulationResult Simulate(const SimulationOptions& options);

}  // namespace takt::internal::sim
