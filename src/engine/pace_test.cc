// A token bucket, and how it goes on under the next leader.
#include "engine/pace.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

constexpr Time kWall = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);

Instant At(Duration at, Duration clock_is_off = Duration(0)) {
    return {kWall + at + clock_is_off, Steady(1h + at)};
}

int StartsAt(Pace& pace, Duration at) {
    int starts = 0;
    for (; pace.Ready(At(at).steady); pace.Spend()) ++starts;
    return starts;
}

TEST(PaceTest, ABurstThenEvenly) {
    Pace pace;
    EXPECT_TRUE(pace.Ready(At(0s).steady)) << "no limit";
    pace.Set({.count = 10, .per = 1min}, At(0s).steady);
    EXPECT_EQ(StartsAt(pace, 0s), 10);
    EXPECT_EQ(pace.ReadyAt(), At(6s).steady);
    EXPECT_EQ(pace.FullAt(), At(1min).steady);
    EXPECT_EQ(StartsAt(pace, 5s), 0);
    EXPECT_EQ(StartsAt(pace, 12s), 2);
    EXPECT_FALSE(pace.Full(At(1min).steady));
    EXPECT_TRUE(pace.Full(At(72s).steady));

    EXPECT_EQ(StartsAt(pace, 1h), 10) << "no fuller than a burst";
}

// A quota of ten a day.
TEST(PaceTest, TheNextLeaderGoesOnWhereThisOneWas) {
    Pace pace;
    pace.Set({.count = 10, .per = 24h}, At(0s).steady);
    EXPECT_EQ(StartsAt(pace, 0s), 10);
    const auto stored = ReadPace(WritePace(pace.Store(At(0s).wall)));
    ASSERT_TRUE(stored);
    Pace next;
    next.Restore(*stored, At(1min));
    next.Set({.count = 10, .per = 24h}, At(1min).steady);
    EXPECT_EQ(StartsAt(next, 1min), 0);

    EXPECT_EQ(StartsAt(next, 24h), 10);
}

TEST(PaceTest, AClockThatDiffersNeitherEmptiesNorOverfillsTheBucket) {
    Pace pace;
    pace.Set({.count = 10, .per = 1h}, At(0s).steady);
    EXPECT_EQ(StartsAt(pace, 0s), 10);
    pace.Ready(At(30min).steady);
    const StoredPace stored = pace.Store(At(30min).wall);  // Five are left.
    Pace behind;
    behind.Restore(stored, At(30min, -24h));
    EXPECT_EQ(StartsAt(behind, 30min), 5);
    Pace ahead;
    ahead.Restore(stored, At(30min, 24h * 365));

    EXPECT_EQ(StartsAt(ahead, 30min), 10);
}

TEST(PaceTest, WhatCannotBeReadIsNothing) {
    for (const char* value : {"", "1", "1 2 3", "-1 2 3 4", "1 0 3 4", "1 2 0 4", "1 2 3 4 5"}) {
        EXPECT_FALSE(ReadPace(value)) << value;
    }
    EXPECT_TRUE(ReadPace("1 2 3 4"));
}

}  // namespace
}  // namespace takt::internal
