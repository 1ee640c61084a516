// The simulator holds the system to its promises, and these tests hold the simulator to its own:
// that it repeats itself and shrinks what fails. That it notices when a promise is broken is what
// tests/mutants shows.
#include <gtest/gtest.h>

#include <string>

#include "base/failpoint.h"
#include "sim/shrink.h"
#include "sim/simulation.h"

namespace takt::internal::sim {
namespace {

// Everything that can go wrong goes wrong, in a thousand different ways.
TEST(SimulationTest, EveryPromiseHoldsWhateverFails) {
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        const SimulationResult result = Simulate({.seed = seed});
        ASSERT_EQ(result.failure, "") << "replay: takt_sim --seed " << seed << " --trace";
    }
}

// Steps that are tired after one change: whatever is done in several is interrupted.
TEST(SimulationTest, EveryPromiseHoldsWhenStepsAreSoonTired) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        const SimulationResult result =
            Simulate({.seed = seed, .steps = 200, .changes_per_step = 1});
        ASSERT_EQ(result.failure, "") << seed;
    }
}

// Orders and answers are lost, callbacks come twice, late and to whoever does not lead.
TEST(SimulationTest, EveryPromiseHoldsWithExecutors) {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        const SimulationResult result = Simulate({.seed = seed, .executors = true});
        ASSERT_EQ(result.failure, "") << "replay: takt_sim --executors --seed " << seed;
    }
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const SimulationResult result = Simulate({.seed = seed, .quiet = true, .executors = true});
        ASSERT_EQ(result.failure, "") << "replay: takt_sim --executors --quiet --seed " << seed;
    }
    EXPECT_EQ(Simulate({.seed = 1, .executors = true}).hash,
              Simulate({.seed = 1, .executors = true}).hash);
}

// Redis fails over to a replica that was behind, again and again: alone, and while all else fails, too.
TEST(SimulationTest, WeakerPromisesHoldWhenTheStoreForgets) {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        const SimulationResult result = Simulate({.seed = seed, .forgetful = true});
        ASSERT_EQ(result.failure, "") << "replay: takt_sim --forgetful --seed " << seed;
    }
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        const SimulationResult result = Simulate({.seed = seed, .quiet = true, .forgetful = true});
        ASSERT_EQ(result.failure, "") << "replay: takt_sim --forgetful --quiet --seed " << seed;
    }
    EXPECT_EQ(Simulate({.seed = 1, .forgetful = true}).hash,
              Simulate({.seed = 1, .forgetful = true}).hash);
}

// An ordinary day.
TEST(SimulationTest, WithoutFaultsEverythingRunsExactlyOnce) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const SimulationResult result = Simulate({.seed = seed, .quiet = true});
        ASSERT_EQ(result.failure, "") << "replay: takt_sim --quiet --seed " << seed << " --trace";
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

// A seed that fails is told with what it needs to fail, and nothing else.
// How few steps and faults are left hangs on the seed: of several, one fails with less than half.
TEST(ShrinkTest, AFailingSeedIsToldWithTheFewestFaultsAndSteps) {
    ASSERT_TRUE(SetFailPoints("mutant.engine.forget_failures_on_load:error"));
    SimulationOptions options;
    SimulationResult whole;
    Shrunk shrunk;
    const auto small = [&] {
        return shrunk.options.steps_left_out.size() > options.steps / 2 &&
               shrunk.options.faults_left_out.size() > whole.faults / 2;
    };
    for (; options.seed < 100; ++options.seed) {
        whole = Simulate(options);
        if (whole.failure.empty()) continue;
        shrunk = Shrink(options, whole.failure, 300);
        if (small()) break;
    }
    const SimulationResult again = Simulate(shrunk.options);
    ASSERT_TRUE(SetFailPoints(""));

    EXPECT_TRUE(small()) << "no seed could be told with less";
    EXPECT_TRUE(SameViolation(again.failure, whole.failure)) << again.failure;
    EXPECT_EQ(Simulate(shrunk.options).failure, "") << "nothing is broken any more";
}

TEST(ShrinkTest, ViolationsThatDifferInNumbersAreTheSame) {
    EXPECT_TRUE(SameViolation("job-1 (attempt 2) was lost", "job-17 (attempt 3) was lost"));
    EXPECT_FALSE(SameViolation("job-1 was lost", "job-1 never ended"));
    EXPECT_FALSE(SameViolation("", "17"));
}

}  // namespace
}  // namespace takt::internal::sim
