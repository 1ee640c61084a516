#include "engine/trusted_clock.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

class TrustedClockTest : public ::testing::Test {
  protected:
    static constexpr Time kBegin = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);

    Instant At(Duration since, Duration ahead = 0ms) const {
        return {kBegin + since + ahead, Steady(42h) + since};
    }

    TrustedClock clock_;
};

// A glitch of NTP, a machine that wakes up: the clock is wrong by a week for some seconds.
TEST_F(TrustedClockTest, AClockThatIsAheadForAMomentIsNotBelieved) {
    clock_.Begin(At(0s), {});

    EXPECT_EQ(clock_.Observe(At(10s, 24h * 7)), 24h * 7);
    EXPECT_EQ(clock_.trusted(), kBegin + 10s);
    EXPECT_EQ(clock_.Observe(At(50min, 24h * 7)), 0ms);
    EXPECT_EQ(clock_.trusted(), kBegin + 50min);
    EXPECT_EQ(clock_.Observe(At(51min)), -24h * 7);
    EXPECT_EQ(clock_.trusted(), kBegin + 51min);
    EXPECT_TRUE(clock_.set_back());
}

// The clock was behind for a year, and somebody repaired it.
TEST_F(TrustedClockTest, AClockThatStaysAheadIsBelievedAfterAnHour) {
    clock_.Begin(At(0s), {});
    clock_.Observe(At(1min, 24h * 365));
    clock_.Observe(At(60min, 24h * 365));
    EXPECT_EQ(clock_.trusted(), kBegin + 60min);
    clock_.Observe(At(61min, 24h * 365));
    EXPECT_EQ(clock_.trusted(), kBegin + 61min + 24h * 365);
}

TEST_F(TrustedClockTest, AClockThatRunsAwayIsNeverBelieved) {
    clock_.Begin(At(0s), {});
    for (Duration at = 1min; at < 10h; at += 1min) clock_.Observe(At(at, at * 100));
    EXPECT_EQ(clock_.trusted(), kBegin + 10h - 1min);
}

TEST_F(TrustedClockTest, AClockThatIsSetBackIsBelievedAtOnce) {
    clock_.Begin(At(0s), {});
    EXPECT_EQ(clock_.Observe(At(1s, -1h)), -1h);
    EXPECT_EQ(clock_.trusted(), kBegin + 1s - 1h);
}

TEST_F(TrustedClockTest, DriftIsFollowedAndNotTold) {
    clock_.Begin(At(0s), {});
    EXPECT_EQ(clock_.Observe(At(1h, 30s)), 0ms);
    EXPECT_EQ(clock_.trusted(), kBegin + 1h + 30s);
    EXPECT_FALSE(clock_.last_jump(Steady(42h) + 1h));
    EXPECT_EQ(clock_.Observe(At(2h, 29s)), 0ms);
    EXPECT_TRUE(clock_.set_back());
}

// A leader whose clock is a month ahead takes over from one whose clock was right.
TEST_F(TrustedClockTest, ANewLeaderFarBeyondTheLastRecordWaitsForConfirmation) {
    clock_.Begin(At(0s), kBegin - 24h * 30);
    EXPECT_EQ(clock_.trusted(), kBegin - 24h * 29);
    clock_.Observe(At(1h));
    EXPECT_EQ(clock_.trusted(), kBegin + 1h);
}

// It may have begun in the moment in which its clock was ahead.
TEST_F(TrustedClockTest, WhatCannotBeUndoneWaitsForTheFirstHourOfATerm) {
    clock_.Begin(At(0s), kBegin - 20h);
    EXPECT_EQ(clock_.settled(), kBegin - 20h);
    clock_.Observe(At(59min));
    EXPECT_EQ(clock_.settled(), kBegin - 20h + 59min);
    clock_.Observe(At(1h));
    EXPECT_EQ(clock_.settled(), kBegin + 1h);
}

// Waits and windows are moved along with the clock that they are counted by.
TEST_F(TrustedClockTest, ItSaysByHowMuchEachClockWasSet) {
    clock_.Begin(At(0s), {});
    clock_.Observe(At(1s, 499ms));
    EXPECT_EQ(clock_.moved(), 0s) << "slewed";
    clock_.Observe(At(2s, 30s + 499ms));
    EXPECT_EQ(clock_.moved(), 30s);
    EXPECT_EQ(clock_.trusted_moved(), 30s);
    clock_.Observe(At(3s, 2h));
    EXPECT_EQ(clock_.moved(), 2h - 30s - 499ms);
    EXPECT_EQ(clock_.trusted_moved(), 0s) << "not before it is believed";
    clock_.Observe(At(1h + 3s, 2h));
    EXPECT_EQ(clock_.moved(), 0s);
    EXPECT_EQ(clock_.trusted_moved(), 2h - 30s - 499ms);
    clock_.Observe(At(1h + 4s));
    EXPECT_EQ(clock_.moved(), -2h);
    EXPECT_EQ(clock_.trusted_moved(), -2h);
    EXPECT_TRUE(clock_.set_back());
}

TEST_F(TrustedClockTest, InDoubtOnlyTheLastRecordSaysWhatIsPast) {
    clock_.Begin(At(0s, 2h), kBegin);
    EXPECT_EQ(clock_.undoubted(), kBegin);
    clock_.Observe(At(59s, 2h));
    EXPECT_EQ(clock_.undoubted(), kBegin + 59s);
    clock_.Observe(At(60s, 2h));
    EXPECT_EQ(clock_.undoubted(), kBegin + 60s + 2h);
}

TEST_F(TrustedClockTest, ItPartsWhenItIsSetAndWhenItIsBelieved) {
    clock_.Begin(At(0s), Time{});
    clock_.Observe(At(1s, 59s));
    EXPECT_FALSE(clock_.parted()) << "drift";
    EXPECT_FALSE(clock_.GivenAhead(kBegin + 1min));
    clock_.Observe(At(2s, 2h));
    EXPECT_TRUE(clock_.parted());
    clock_.Observe(At(3s, 2h));
    EXPECT_FALSE(clock_.parted());
    EXPECT_TRUE(clock_.GivenAhead(kBegin + 2h + 2s));
    EXPECT_FALSE(clock_.GivenAhead(kBegin + 2h + 1s));
    clock_.Observe(At(1h + 2s, 2h));
    EXPECT_TRUE(clock_.parted()) << "it is believed";
    EXPECT_FALSE(clock_.GivenAhead(kBegin + 3h));
}

TEST_F(TrustedClockTest, OnlyANewTermLongAfterItsLastRecordDoubts) {
    clock_.Begin(At(0s), kBegin - 2h);
    EXPECT_EQ(clock_.DoubtOf(kBegin - 2h), 0s) << "the last record says so too";
    EXPECT_EQ(clock_.DoubtOf(kBegin - 1h), 60s);
    clock_.Observe(At(40s));
    EXPECT_EQ(clock_.DoubtOf(kBegin - 1h), 20s);
    clock_.Observe(At(60s));
    EXPECT_EQ(clock_.DoubtOf(kBegin - 1h), 0s);

    clock_.Begin(At(0s), kBegin - 59s);
    EXPECT_EQ(clock_.DoubtOf(kBegin), 0s) << "a takeover";
    clock_.Begin(At(0s), Time{});
    EXPECT_EQ(clock_.DoubtOf(kBegin), 0s) << "a new store";
}

TEST_F(TrustedClockTest, ANewLeaderAfterANightIsBelievedAtOnce) {
    clock_.Begin(At(0s), kBegin - 12h);
    EXPECT_EQ(clock_.trusted(), kBegin);
}

TEST_F(TrustedClockTest, TheLastJumpIsRememberedForAnHour) {
    clock_.Begin(At(0s), {});
    clock_.Observe(At(1s, -2h));
    EXPECT_EQ(clock_.last_jump(At(1h, -2h).steady), -2h);
    EXPECT_FALSE(clock_.last_jump(At(1h + 2s).steady));
}

}  // namespace
}  // namespace takt::internal
