// The simulator holds the system to its promises, and these tests hold the simulator to its own:
// that it repeats itself, and that it notices when a promise is broken.
#include <gtest/gtest.h>

#include "sim/simulation.h"

namespace takt::sim {
namespace {

// How many seeds it takes to notice a broken promise, or 0 if `seeds_max` are not enough.
std::uint64_t SeedsToNotice(SimulationOptions options, std::uint64_t seeds_max) {
    for (options.seed = 1; options.seed <= seeds_max; ++options.seed) {
        if (!Simulate(options).failure.empty()) return options.seed;
    }
    return 0;
}

// Everything that can go wrong goes wrong, in some hundred different ways.
TEST(SimulationTest, EveryPromiseHoldsWhateverFails) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        const SimulationResult result = Simulate({.seed = seed});
        ASSERT_EQ(result.failure, "") << "replay: takt_sim --seed " << seed << " --trace";
    }
}

// An ordinary day.
TEST(SimulationTest, WithoutFaultsEverythingRunsExactlyOnce) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const SimulationResult result = Simulate({.seed = seed, .quiet = true});
        ASSERT_EQ(result.failure, "") << "replay: takt_sim --quiet --seed " << seed << " --trace";
        EXPECT_EQ(result.runs, result.executions);
    }
}

// A failing seed is worth nothing if it does not fail again.
TEST(SimulationTest, ASeedRepeatsItself) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const SimulationResult first = Simulate({.seed = seed});
        const SimulationResult again = Simulate({.seed = seed});
        EXPECT_EQ(first.hash, again.hash) << seed;
        EXPECT_EQ(first.events, again.events) << seed;
    }
    EXPECT_NE(Simulate({.seed = 1}).hash, Simulate({.seed = 2}).hash);
}

// --- Broken on purpose --------------------------------------------------------------------------

TEST(SabotageTest, AStoreWithoutAFenceIsNoticed) {
    EXPECT_GT(SeedsToNotice({.sabotage_no_fence = true}, 100), 0u);
}

TEST(SabotageTest, AcceptingTheReportOfAnyAttemptIsNoticed) {
    EXPECT_GT(SeedsToNotice({.sabotage_accept_any_attempt = true}, 100), 0u);
}

TEST(SabotageTest, ForgettingFailuresAtATakeoverIsNoticed) {
    EXPECT_GT(SeedsToNotice({.sabotage_forget_failures = true}, 100), 0u);
}

TEST(SabotageTest, DispatchingBeforeTheCommitIsNoticed) {
    EXPECT_GT(SeedsToNotice({.sabotage_release_early = true}, 100), 0u);
}

}  // namespace
}  // namespace takt::sim
