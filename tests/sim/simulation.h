// Simulation: a cluster of schedulers, a database, workers and clients in one thread, from one
// seed. First everything may fail (safety), then everything heals and must come to its end
// (liveness).
#pragma once

#include <cstddef>
#include <cstdint>
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

    // For tests of the tests: each breaks one promise.
    bool sabotage_no_fence = false;
    bool sabotage_accept_any_attempt = false;
    bool sabotage_forget_failures = false;
    bool sabotage_release_early = false;
    bool sabotage_forget_fires = false;      // A fire does not write its task's place.
    bool sabotage_forget_missed = false;     // What was missed leaves no record.
    bool sabotage_forget_turns = false;      // A new leader lets anybody have the turn.
    bool sabotage_forget_limits = false;     // A new leader counts nobody who is at work already.
    bool sabotage_forget_keys = false;       // A new leader does not know who holds a unique key.
    bool sabotage_forget_expiry = false;     // What has expired is started all the same.
    bool sabotage_forget_pace = false;       // A start spends nothing of its rate.
    bool sabotage_reuse_tokens = false;      // A new leader begins to count tokens of locks anew.
    bool sabotage_keep_released = false;     // The row of a lock survives its release.
    bool sabotage_skip_waiters = false;      // The first in the line of a lock is passed over.
    std::size_t changes_per_step = 0;        // Of the engine's; 0: as it is configured.
    bool sabotage_forget_cursor = false;     // Children are made without moving the run's cursor.
    bool sabotage_forget_waiting = false;    // Steps begin before those they wait for have ended.
    bool sabotage_forget_results = false;    // Steps are given nothing of earlier results.
    bool sabotage_forget_ending = false;     // A new leader does not know that a run was to end.
    bool sabotage_old_progress = false;      // A new leader believes a child, not the newer record.
    bool sabotage_forget_run_locks = false;  // A new leader does not know what runs hold.
    // Of several namespaces.
    bool sabotage_answer_for_another = false;  // A scheduler asks the wrong one of its nodes.
    bool sabotage_shared_rows = false;   // Ids are looked up in the rows of the first namespace.
    bool sabotage_shared_lists = false;  // Terms begin with the rows of the first namespace.
    bool sabotage_forget_hands = false;  // What workers bring along to a new leader is not heard.
    bool sabotage_one_line = false;      // All wait in one line for the store.
    bool sabotage_late_leads = false;    // Schedulers seldom look whether there is a leader.
    bool sabotage_eager_shares = false;  // Who has just come is given leads at once.
};

struct SimulationResult {
    std::string failure;  // Empty: all held.
    std::uint64_t hash = 0;
    std::uint64_t events = 0;
    std::size_t executions = 0;
    std::size_t runs = 0;
    std::size_t commits = 0;
    std::size_t losses = 0;
    std::size_t due_times = 0;  // Of recurring tasks, accounted for.
    std::size_t moves = 0;      // Of leads, in a drill.
};

SimulationResult Simulate(const SimulationOptions& options);

}  // namespace takt::internal::sim
