// Simulation: a cluster of schedulers, a database, workers and clients in one thread, from one
// seed. First everything may fail (safety), then everything heals and must come to its end
// (liveness).
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

namespace takt::internal::sim {

// The faults of a simulation of several namespaces, and with them what must hold.
enum class Drill : std::uint8_t {
    kNone,    // Everything, at random.
    kDeaths,  // A scheduler dies, freezes or is cut off. Another leads within the ttl and a second.
    kMoves,   // Schedulers come, go and hand over. All runs once; new ones get nothing at once.
    kSlow,   // The store is slow for one namespace. Others notice nothing, and none loses its lead.
    kStuck,  // The store does not answer one namespace. Others notice nothing.
};

struct SimulationOptions {
    std::uint64_t seed = 1;
    std::size_t steps = 60;  // What clients do in the first phase.
    bool trace = false;      // Print what happens.
    bool quiet = false;      // Nothing fails, so that everything must run exactly once.
    bool hours = true;       // In one seed of ten, clocks may be wrong by an hour.
    std::size_t spaces = 1;  // Namespaces, of the same schedulers.
    Drill drill = Drill::kNone;
    bool executors = false;            // Some of the work is done by HTTP executors. One namespace.
    bool forgetful = false;            // Failovers of the store lose what it had acknowledged.
    std::size_t changes_per_step = 0;  // Of the engine's; 0: as it is configured.
    // Left out, by number: steps of clients, and faults.
    std::set<std::size_t> steps_left_out = {};
    std::set<std::size_t> faults_left_out = {};
};

struct SimulationCounts {
    std::uint64_t hash = 0;
    std::uint64_t events = 0;
    std::size_t executions = 0;
    std::size_t runs = 0;
    std::size_t commits = 0;
    std::size_t losses = 0;
    std::size_t due_times = 0;  // Of recurring tasks, accounted for.
    std::size_t moves = 0;      // Of leads, in a drill.
    std::size_t faults = 0;     // Those that were left out included.
};

struct SimulationResult : SimulationCounts {
    std::string failure;  // Empty: all held.
};

SimulationResult Simulate(const SimulationOptions& options);

}  // namespace takt::internal::sim
