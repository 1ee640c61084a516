// takt_sim: simulates seeds, many or one, and says how to see a failing one again.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "sim/simulation.h"

namespace {

using takt::internal::sim::Drill;
using takt::internal::sim::Simulate;
using takt::internal::sim::SimulationOptions;
using takt::internal::sim::SimulationResult;

const std::map<std::string, Drill> kDrills = {{"none", Drill::kNone},
                                              {"deaths", Drill::kDeaths},
                                              {"moves", Drill::kMoves},
                                              {"slow", Drill::kSlow},
                                              {"stuck", Drill::kStuck}};

void PrintFailure(const char* program, const SimulationOptions& options,
                  const SimulationResult& result) {
    const std::string changes = options.changes_per_step > 0
                                    ? " --changes " + std::to_string(options.changes_per_step)
                                    : "";
    const std::string spaces =
        options.spaces > 1 ? " --namespaces " + std::to_string(options.spaces) : "";
    std::string drill;
    for (const auto& [name, value] : kDrills) {
        if (value == options.drill && value != Drill::kNone) drill = " --drill " + name;
    }
    std::printf("\nseed %llu FAILED: %s\nreplay: %s --seed %llu --steps %zu%s%s%s%s --trace\n",
                static_cast<unsigned long long>(options.seed), result.failure.c_str(), program,
                static_cast<unsigned long long>(options.seed), options.steps, changes.c_str(),
                spaces.c_str(), drill.c_str(), options.quiet ? " --quiet" : "");
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Simulates a whole cluster from a seed: schedulers, store, workers, clients.");
    SimulationOptions options;
    std::uint64_t seeds = 100;
    std::uint64_t first = 1;
    app.add_option("--seeds", seeds, "How many seeds to simulate")->capture_default_str();
    app.add_option("--first", first, "The first of them")->capture_default_str();
    CLI::Option* one = app.add_option("--seed", options.seed, "Simulate this seed only");
    app.add_option("--steps", options.steps, "What clients do before the heal")
        ->capture_default_str();
    app.add_option("--changes", options.changes_per_step, "Changes that one step may make");
    app.add_option("--namespaces", options.spaces, "Namespaces, of the same schedulers")
        ->check(CLI::Range(1, 255));
    app.add_option("--drill", options.drill,
                   "One thing goes wrong at a time: deaths, moves, slow, stuck")
        ->transform(CLI::CheckedTransformer(kDrills));
    app.add_flag("--trace", options.trace, "Print what happens");
    app.add_flag("--quiet", options.quiet, "Nothing fails: everything must run exactly once");
    CLI11_PARSE(app, argc, argv);
    if (one->count() > 0) {
        first = options.seed;
        seeds = 1;
    }
    SimulationResult sum;
    for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
        options.seed = seed;
        const SimulationResult result = Simulate(options);
        if (!result.failure.empty()) {
            PrintFailure(argv[0], options, result);
            return EXIT_FAILURE;
        }
        sum.events += result.events;
        sum.executions += result.executions;
        sum.runs += result.runs;
        sum.commits += result.commits;
        sum.losses += result.losses;
        sum.due_times += result.due_times;
        const std::uint64_t done = seed - first + 1;
        if (done % 100 == 0 || done == seeds) {
            std::printf(
                "%llu seeds, %zu executions, %zu runs, %zu commits, %zu losses, %zu due times, "
                "%llu events, hash %016llx\n",
                static_cast<unsigned long long>(done), sum.executions, sum.runs, sum.commits,
                sum.losses, sum.due_times, static_cast<unsigned long long>(sum.events),
                static_cast<unsigned long long>(result.hash));
            std::fflush(stdout);
        }
    }
    return EXIT_SUCCESS;
}
