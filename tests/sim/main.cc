// takt_sim: simulates seeds, many or one, and says how to see a failing one again.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/failpoint.h"
#include "sim/campaign.h"
#include "sim/shrink.h"
#include "sim/simulation.h"

namespace {

using takt::internal::sim::Shrink;
using takt::internal::sim::Shrunk;

using takt::internal::sim::Drill;
using takt::internal::sim::RunCampaign;
using takt::internal::sim::SeedRange;
using takt::internal::sim::SimulationOptions;
using takt::internal::sim::SimulationResult;

const std::map<std::string, Drill> kDrills = {{"none", Drill::kNone},
                                              {"deaths", Drill::kDeaths},
                                              {"moves", Drill::kMoves},
                                              {"slow", Drill::kSlow},
                                              {"stuck", Drill::kStuck}};

// More simulations are not worth the wait; a tenth of them is usually enough.
constexpr std::size_t kShrinkMax = 2'000;

std::string Numbers(const char* flag, const std::set<std::size_t>& numbers) {
    std::string list;
    for (const std::size_t number : numbers) {
        list += (list.empty() ? std::string(" ") + flag + " " : ",") + std::to_string(number);
    }
    return list;
}

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
    std::printf(
        "\nseed %llu FAILED: %s\nreplay: %s --seed %llu --steps %zu%s%s%s%s%s%s%s%s --trace\n",
        static_cast<unsigned long long>(options.seed), result.failure.c_str(), program,
        static_cast<unsigned long long>(options.seed), options.steps, changes.c_str(),
        spaces.c_str(), drill.c_str(), options.quiet ? " --quiet" : "",
        options.executors ? " --executors" : "", options.forgetful ? " --forgetful" : "",
        Numbers("--without-steps", options.steps_left_out).c_str(),
        Numbers("--without-faults", options.faults_left_out).c_str());
}

// Of so many, those that are not left out.
std::size_t Left(std::size_t count, const std::set<std::size_t>& left_out) {
    return count - std::size_t(std::distance(left_out.begin(), left_out.lower_bound(count)));
}

void PrintShrunk(const char* program, const SimulationOptions& options,
                 const SimulationResult& result) {
    const Shrunk shrunk = Shrink(options, result.failure, kShrinkMax);
    std::printf("\nafter %zu simulations it fails with %zu of %zu steps and %zu of %zu faults:\n",
                shrunk.simulations, Left(options.steps, shrunk.options.steps_left_out),
                options.steps, Left(shrunk.result.faults, shrunk.options.faults_left_out),
                result.faults);
    PrintFailure(program, shrunk.options, shrunk.result);
}

// One line for ./dev report.
void AppendResult(const std::string& path, const SimulationOptions& options, std::uint64_t seeds,
                  const SimulationResult& sum, const std::vector<std::uint64_t>& failed) {
    std::ofstream file(path, std::ios::app);
    std::string drill = "none";
    for (const auto& [name, value] : kDrills) {
        if (value == options.drill) drill = name;
    }
    std::string list;
    for (const std::uint64_t seed : failed)
        list += (list.empty() ? "" : ", ") + std::to_string(seed);
    file << "{\"seeds\": " << seeds << ", \"steps\": " << options.steps
         << ", \"namespaces\": " << options.spaces << ", \"drill\": \"" << drill
         << "\", \"quiet\": " << (options.quiet ? "true" : "false")
         << ", \"executors\": " << (options.executors ? "true" : "false")
         << ", \"forgetful\": " << (options.forgetful ? "true" : "false")
         << ", \"changes\": " << options.changes_per_step << ", \"executions\": " << sum.executions
         << ", \"runs\": " << sum.runs << ", \"commits\": " << sum.commits
         << ", \"losses\": " << sum.losses << ", \"due_times\": " << sum.due_times
         << ", \"faults\": " << sum.faults << ", \"failed\": [" << list << "]}\n";
}

// The seeds, and how they are gone through.
struct Campaign {
    SeedRange seeds;
    bool shrink = false;
    bool keep_going = false;
    std::uint64_t jobs = std::max(1u, std::thread::hardware_concurrency());  // Processes.
    std::string result_file;
};

void Add(SimulationResult& sum, const SimulationResult& result) {
    sum.events += result.events;
    sum.executions += result.executions;
    sum.runs += result.runs;
    sum.commits += result.commits;
    sum.losses += result.losses;
    sum.due_times += result.due_times;
    sum.faults += result.faults;
}

int RunSeeds(const char* program, SimulationOptions options, const Campaign& run) {
    SimulationResult sum;
    std::vector<std::uint64_t> failed;
    std::uint64_t done = 0;
    const auto tell = [&](std::uint64_t seed, const SimulationResult& result) {
        ++done;
        if (!result.failure.empty()) {
            options.seed = seed;
            PrintFailure(program, options, result);
            if (run.shrink) PrintShrunk(program, options, result);
            failed.push_back(seed);
            return run.keep_going;
        }
        Add(sum, result);
        if (done % 100 == 0 || done == run.seeds.count) {
            std::printf(
                "%llu seeds, %zu executions, %zu runs, %zu commits, %zu losses, %zu due times, "
                "%llu events, hash %016llx\n",
                static_cast<unsigned long long>(done), sum.executions, sum.runs, sum.commits,
                sum.losses, sum.due_times, static_cast<unsigned long long>(sum.events),
                static_cast<unsigned long long>(result.hash));
            std::fflush(stdout);
        }
        return true;
    };
    const bool whole = RunCampaign(options, run.seeds, run.jobs, tell);
    // Without the seed that killed its process it would look as if all had held.
    if (whole && !run.result_file.empty()) {
        AppendResult(run.result_file, options, done, sum, failed);
    }
    return whole && failed.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
    if (auto started = takt::internal::StartFailPoints(); !started) {
        std::fprintf(stderr, "takt_sim: %s\n", started.error().detail.c_str());
        return EXIT_FAILURE;
    }
    CLI::App app("Simulates a whole cluster from a seed: schedulers, store, workers, clients.");
    SimulationOptions options;
    Campaign run;
    app.add_option("--seeds", run.seeds.count, "How many seeds to simulate")->capture_default_str();
    app.add_option("--first", run.seeds.first, "The first of them")->capture_default_str();
    CLI::Option* one = app.add_option("--seed", options.seed, "Simulate this seed only");
    app.add_option("--steps", options.steps, "What clients do before the heal")
        ->capture_default_str();
    app.add_option("--changes", options.changes_per_step, "Changes that one step may make");
    app.add_option("--namespaces", options.spaces, "Namespaces, of the same schedulers")
        ->check(CLI::Range(1, 255));
    app.add_flag("--executors", options.executors, "HTTP executors do some of the work")
        ->excludes("--namespaces");
    app.add_flag(
           "--forgetful", options.forgetful,
           "Failovers of the store lose what it had acknowledged; with --quiet nothing else fails")
        ->excludes("--executors");
    app.add_option("--drill", options.drill,
                   "One thing goes wrong at a time: deaths, moves, slow, stuck")
        ->transform(CLI::CheckedTransformer(kDrills));
    std::vector<std::size_t> steps;
    std::vector<std::size_t> faults;
    app.add_option("--without-steps", steps, "Steps of clients that do not happen, by number")
        ->delimiter(',');
    app.add_option("--without-faults", faults, "Faults that do not happen, by number")
        ->delimiter(',');
    app.add_flag("--keep-going", run.keep_going, "Go on after a seed that fails");
    app.add_option("--jobs", run.jobs, "Processes that share the seeds")
        ->check(CLI::Range(1, 256))
        ->capture_default_str();
    app.add_option("--result", run.result_file,
                   "Add a line of JSON to this file: what was simulated");
    app.add_flag("--shrink", run.shrink,
                 "Look for the fewest steps and faults of a seed that fails");
    app.add_flag("--trace", options.trace, "Print what happens");
    app.add_flag("--quiet", options.quiet, "Nothing fails: everything must run exactly once");
    CLI11_PARSE(app, argc, argv);
    options.steps_left_out = {steps.begin(), steps.end()};
    options.faults_left_out = {faults.begin(), faults.end()};
    if (one->count() > 0) run.seeds = {options.seed, 1};
    return RunSeeds(argv[0], options, run);
}
