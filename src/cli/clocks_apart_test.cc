#include "cli/clocks_apart.h"

#include <gtest/gtest.h>

namespace takt::internal::cli {
namespace {

Time At(int milliseconds) {
    return Time(Duration(1'790'000'000'000 + milliseconds));
}

// The schedulers and this command are on one machine, and the store takes five seconds for a read.
TEST(ClocksApartTest, ASlowAnswerIsNoClockThatIsWrong) {
    ClocksApart clocks;
    clocks.Add("a", {.asked = At(0), .said = At(4'990), .answered = At(5'000)});
    clocks.Add("b", {.asked = At(5'000), .said = At(5'001), .answered = At(9'000)});

    EXPECT_EQ(clocks.surely(), Duration(0));
    EXPECT_EQ(clocks.furthest(), "");
    EXPECT_EQ(clocks.hidden(), Duration(5'000));
}

TEST(ClocksApartTest, WhatNoDelayExplainsIsTold) {
    ClocksApart clocks;
    clocks.Add("ahead", {.asked = At(0), .said = At(3'000), .answered = At(1'000)});
    clocks.Add("right", {.asked = At(1'000), .said = At(1'005), .answered = At(1'010)});
    clocks.Add("behind", {.asked = At(1'010), .said = At(-58'990), .answered = At(1'020)});

    EXPECT_EQ(clocks.surely(), Duration(62'000));
    EXPECT_EQ(clocks.furthest(), "behind");
}

}  // namespace
}  // namespace takt::internal::cli
