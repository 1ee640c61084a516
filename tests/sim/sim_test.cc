// The simulator holds the system to its promises, and these tests hold the simulator to its own:
// that it repeats itself, and that it notices when a promise is broken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/simulation.h"

namespace takt::internal::sim {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// The first sign of a broken promise in so many seeds; empty if there is none.
std::string Noticed(SimulationOptions options, std::uint64_t seeds_max) {
    for (options.seed = 1; options.seed <= seeds_max; ++options.seed) {
        const std::string failure = Simulate(options).failure;
        if (!failure.empty()) return failure;
    }
    return {};
}

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

// A deposed leader writes on: its commits come after newer ones, or contradict them.
TEST(SabotageTest, AStoreWithoutAFenceIsNoticed) {
    EXPECT_THAT(Noticed({.sabotage_no_fence = true}, 100),
                AnyOf(HasSubstr("after one of epoch"), HasSubstr("contradicts the database")));
}

TEST(SabotageTest, AcceptingTheReportOfAnyAttemptIsNoticed) {
    EXPECT_THAT(Noticed({.sabotage_accept_any_attempt = true}, 100),
                AnyOf(HasSubstr("not of its attempt"), HasSubstr("reports of"),
                      HasSubstr("before it was committed"), HasSubstr("more than it can"),
                      HasSubstr("was refused although it is stored")));
}

TEST(SabotageTest, ForgettingFailuresAtATakeoverIsNoticed) {
    EXPECT_THAT(Noticed({.sabotage_forget_failures = true}, 100), HasSubstr("forgot failures"));
}

// The leader dies after a fire, and the next one does not know of it.
TEST(SabotageTest, AFireThatDoesNotWriteItsTasksPlaceIsNoticed) {
    EXPECT_THAT(Noticed({.sabotage_forget_fires = true}, 100),
                AnyOf(HasSubstr("was accounted for twice"), HasSubstr("was not written with it"),
                      HasSubstr("is no next one")));
}

TEST(SabotageTest, DueTimesThatLeaveNoRecordAreNoticed) {
    EXPECT_THAT(Noticed({.sabotage_forget_missed = true}, 100), HasSubstr("was lost"));
}

TEST(SabotageTest, ForgettingATurnAtATakeoverIsNoticed) {
    EXPECT_THAT(Noticed({.sabotage_forget_turns = true}, 300), HasSubstr("overlap"));
}

TEST(SabotageTest, ForgettingWhoIsAtWorkAtATakeoverIsNoticed) {
    EXPECT_THAT(Noticed({.sabotage_forget_limits = true}, 300), HasSubstr("are at work"));
}

TEST(SabotageTest, ForgettingUniqueKeysAtATakeoverIsNoticed) {
    EXPECT_THAT(Noticed({.sabotage_forget_keys = true}, 300), HasSubstr("same unique key"));
}

TEST(SabotageTest, StartingWhatHasExpiredIsNoticed) {
    EXPECT_THAT(Noticed({.sabotage_forget_expiry = true}, 100), HasSubstr("it had expired"));
}

TEST(SabotageTest, StartsThatSpendNothingOfTheirRateAreNoticed) {
    EXPECT_THAT(Noticed({.sabotage_forget_pace = true}, 100), HasSubstr("than its rate allows"));
}

TEST(SabotageTest, TokensOfLocksThatAreUsedAgainAreNoticed) {
    EXPECT_THAT(Noticed({.sabotage_reuse_tokens = true}, 100), HasSubstr("did not rise"));
}

TEST(SabotageTest, ALockThatSurvivesItsReleaseIsNoticed) {
    EXPECT_THAT(Noticed({.sabotage_keep_released = true}, 100),
                AnyOf(HasSubstr("after its release"), HasSubstr("two holders"),
                      HasSubstr("that is over holds")));
}

TEST(SabotageTest, AWaiterThatIsSkippedIsNoticed) {
    EXPECT_THAT(Noticed({.sabotage_skip_waiters = true}, 300),
                AnyOf(HasSubstr("which nobody held"), HasSubstr("never ended")));
}

TEST(SabotageTest, ChildrenThatDoNotMoveTheCursorAreNoticed) {
    EXPECT_THAT(Noticed({.sabotage_forget_cursor = true}, 100),
                AnyOf(HasSubstr("more than its cursor says"), HasSubstr("was made twice"),
                      HasSubstr("contradicts the database")));
}

TEST(SabotageTest, StepsThatDoNotWaitAreNoticed) {
    EXPECT_THAT(Noticed({.sabotage_forget_waiting = true}, 100), HasSubstr("have not ended as"));
}

TEST(SabotageTest, ValuesThatAreNotThoseOfTheResultsAreNoticed) {
    EXPECT_THAT(Noticed({.sabotage_forget_results = true}, 100), HasSubstr("was given"));
}

TEST(SabotageTest, ForgettingThatARunWasToEndIsNoticed) {
    EXPECT_THAT(
        Noticed({.sabotage_forget_ending = true}, 300),
        AnyOf(HasSubstr("forgot that it was to end"), HasSubstr("though its run was to end")));
}

TEST(SabotageTest, GoingOnFromOldProgressIsNoticed) {
    EXPECT_THAT(Noticed({.sabotage_old_progress = true}, 300),
                AnyOf(HasSubstr("was made twice"), HasSubstr("contradicts the database"),
                      HasSubstr("successes, not"), HasSubstr("forgot")));
}

TEST(SabotageTest, ForgettingTheLocksOfRunsAtATakeoverIsNoticed) {
    EXPECT_THAT(Noticed({.sabotage_forget_run_locks = true}, 300),
                HasSubstr("goes on without lock"));
}

TEST(SabotageTest, DispatchingBeforeTheCommitIsNoticed) {
    EXPECT_THAT(Noticed({.sabotage_release_early = true}, 100),
                HasSubstr("was sent to a worker before it was committed"));
}

}  // namespace
}  // namespace takt::internal::sim
