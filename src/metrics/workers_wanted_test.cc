#include "metrics/workers_wanted.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

constexpr Duration kMinute{60'000};

// A thousand images wait, each takes three seconds, and a minute is what people wait: fifty places.
TEST(WorkersWanted, AreAsManyAsClearWhatWaitsInTime) {
    const QueueDemand images{.ready = 1'000, .seconds_each = 3, .worker_capacity = 10};
    EXPECT_EQ(WorkersWanted(images, kMinute), 5u);
    EXPECT_EQ(WorkersWanted(images, kMinute * 2), 3u) << "25 places, rounded up";
}

// Executions that run keep their places, or the autoscaler would take workers away that are busy.
TEST(WorkersWanted, CountWhatRuns) {
    EXPECT_EQ(WorkersWanted({.working = 31, .seconds_each = 3, .worker_capacity = 10}, kMinute),
              4u);
    EXPECT_EQ(WorkersWanted({.ready = 20, .working = 30, .seconds_each = 60, .worker_capacity = 10},
                            kMinute),
              5u);
}

TEST(WorkersWanted, AreNoneWhereNothingIsToDo) {
    EXPECT_EQ(WorkersWanted({.worker_capacity = 10}, kMinute), 0u);
    EXPECT_EQ(WorkersWanted({}, kMinute), 0u);
}

// One short task must not be left waiting because it is a fraction of a place.
TEST(WorkersWanted, AreOneForTheSmallestTask) {
    EXPECT_EQ(WorkersWanted({.ready = 1, .seconds_each = 0.001, .worker_capacity = 100}, kMinute),
              1u);
}

// Ten executions of an hour each need ten places, not six hundred.
TEST(WorkersWanted, AreNoMoreThanThereAreExecutions) {
    EXPECT_EQ(WorkersWanted({.ready = 10, .seconds_each = 3'600, .worker_capacity = 1}, kMinute),
              10u);
}

// More workers would stand before a closed door.
TEST(WorkersWanted, KeepToTheLimitOfTheQueue) {
    EXPECT_EQ(WorkersWanted({.ready = 1'000,
                             .working = 5,
                             .working_max = 20,
                             .seconds_each = 60,
                             .worker_capacity = 10},
                            kMinute),
              2u);
}

TEST(WorkersWanted, AreOneMoreUntilItIsKnownHowLongTheyTake) {
    EXPECT_EQ(WorkersWanted({.ready = 1'000, .worker_capacity = 4}, kMinute), 1u);
    EXPECT_EQ(WorkersWanted({.ready = 1'000}, kMinute), 1u) << "nobody serves it yet";
}

}  // namespace
}  // namespace takt::internal
