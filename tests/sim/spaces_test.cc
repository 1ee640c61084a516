// Several namespaces of the same schedulers. Each has its own promises, and its own leader.
#include <gtest/gtest.h>

#include <string>

#include "sim/simulation.h"

namespace takt::internal::sim {
namespace {

constexpr std::size_t kSpaces = 3;
constexpr std::size_t kDrillSteps = 120;  // A minute.

// The first sign of a broken promise in so many seeds; empty if there is none.
std::string NoticedAmong(SimulationOptions options, std::uint64_t seeds_max) {
    options.spaces = kSpaces;
    options.steps = options.drill == Drill::kNone ? options.steps : kDrillSteps;
    for (options.seed = 1; options.seed <= seeds_max; ++options.seed) {
        const std::string failure = Simulate(options).failure;
        if (!failure.empty()) return failure + ", seed " + std::to_string(options.seed);
    }
    return {};
}

// Schedulers die, freeze, are cut off and set their clocks while they lead some and follow others; so
// do the workers of each namespace.
TEST(SpacesTest, EachNamespacesPromisesHoldWhateverFails) {
    EXPECT_EQ(NoticedAmong({.steps = 100, .hours = false}, 50), "");
}

TEST(SpacesTest, WithoutFaultsEverythingRunsExactlyOnceInEach) {
    EXPECT_EQ(NoticedAmong({.quiet = true}, 10), "");
}

// kill -9, a pause, a cut-off, under load: what its workers have in hand they bring to its end.
TEST(SpacesTest, EachNamespaceHasALeaderInTimeAndNothingThatRunsIsDisturbed) {
    EXPECT_EQ(NoticedAmong({.drill = Drill::kDeaths}, 10), "");
}

// A scheduler comes and goes twice a second; then it stays and is handed its share; then all are
// restarted one after the other. Everything runs once.
TEST(SpacesTest, WhatRunsIsNotDisturbedWhenLeadsAreHandedOver) {
    std::size_t moves = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const SimulationResult result = Simulate(
            {.seed = seed, .steps = kDrillSteps, .spaces = kSpaces, .drill = Drill::kMoves});
        ASSERT_EQ(result.failure, "") << seed;
        moves += result.moves;
    }
    EXPECT_GT(moves, 10u) << "leads were to be handed over";
}

TEST(SpacesTest, AStoreThatIsSlowForOneNamespaceDisturbsNoOther) {
    EXPECT_EQ(NoticedAmong({.drill = Drill::kSlow}, 5), "");
    EXPECT_EQ(NoticedAmong({.drill = Drill::kStuck}, 5), "");
}

}  // namespace
}  // namespace takt::internal::sim
