// Expiry under wall clocks that are ahead: for a moment, for long, on this leader or on the next.
#include <gmock/gmock.h>

#include "engine/clock_fixture.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A hundred wait behind a busy worker; nobody can bring back what has expired.
TEST_F(ClockTest, AClockThatIsAheadForAMomentLetsNothingExpire) {
    At(0s, Once({.id = "waits", .expires_after = 1h}));
    At(0s, Once({.id = "later", .delay = 30s, .expires_after = 1h}));
    At(0s, Put({.id = "keeps", .every = 24h, .options = {.expires_after = 1h}}));
    At(0s, TriggerOf("keeps"));
    At(0s, TriggerOf("keeps"));  // Waits for its turn.
    Glitch(10s, 2h);
    Until(1h - 1ms);
    EXPECT_EQ(StatusOf("waits"), Status::kPending);
    EXPECT_EQ(StatusOf("later"), Status::kPending);
    EXPECT_THAT(DueOf("keeps", Status::kPending), SizeIs(2));
    Until(1h);
    EXPECT_EQ(StatusOf("waits"), Status::kFailed) << "in its time all the same";
    EXPECT_EQ(StatusOf("later"), Status::kPending);
    EXPECT_THAT(DueOf("keeps", Status::kPending), IsEmpty());
    Until(1h + 30s);
    EXPECT_EQ(StatusOf("later"), Status::kFailed);
}

// While the clock is ahead a worker comes free: it is given what the clock alone calls expired.
TEST_F(ClockTest, WhatWaitsIsStartedWhileTheClockIsAhead) {
    At(0s, Once({.id = "waits", .expires_after = 1h}));
    At(0s, Once({.id = "retried",
                 .type = "other",
                 .expires_after = 1h,
                 .retry = RetryPolicy{.retries_max = 3, .delay = 4s}}));
    At(0s, Join({.id = "b", .types = {Text("other")}}));
    At(1s, Failure("retried"));
    JumpWall(2h);
    At(2s, Join({.id = "a", .types = {Text("work")}}));
    EXPECT_EQ(StatusOf("waits"), Status::kScheduled);
    EXPECT_EQ(StatusOf("retried"), Status::kRetrying) << "no clock makes its delay shorter";
    Until(5s);
    EXPECT_EQ(StatusOf("retried"), Status::kScheduled) << "for the second time";
}

// It stays ahead: whoever waits does so for as long as it says, by the steady clock.
TEST_F(ClockTest, UnderAClockThatStaysAheadWhatWaitsExpiresInItsTime) {
    At(0s, Once({.id = "waits", .expires_after = 20min}));
    At(0s, Once({.id = "long", .expires_after = 150min}));
    Until(1s);
    JumpWall(2h);
    At(1s, Once({.id = "made", .expires_after = 20min}));
    At(1s, Once({.id = "long made", .expires_after = 150min}));
    Until(20min - 1ms);
    EXPECT_EQ(StatusOf("waits"), Status::kPending);
    Until(20min);
    EXPECT_EQ(StatusOf("waits"), Status::kFailed);
    EXPECT_EQ(StatusOf("made"), Status::kPending);
    Until(20min + 1s);
    EXPECT_EQ(StatusOf("made"), Status::kFailed);
    EXPECT_EQ(StatusOf("long"), Status::kPending);
    Until(1h + 10min);
    EXPECT_EQ(StatusOf("long"), Status::kFailed) << "the clock is believed after an hour";
    Until(150min);
    EXPECT_EQ(StatusOf("long made"), Status::kPending);
    Until(150min + 1s);
    EXPECT_EQ(StatusOf("long made"), Status::kFailed);
}

// A retry has what is left of the time, whichever clock its execution was made by.
TEST_F(ClockTest, ARetryOfWhatAClockAheadMadeHasWhatIsLeft) {
    At(0s, Join({.id = "a"}));
    JumpWall(90s);
    At(1s, Once({.id = "x",
                 .timeout = 1h,
                 .expires_after = 3min,
                 .retry = RetryPolicy{.retries_max = 3, .delay = 4s}}));
    At(170s, Cut("a"));
    At(170s, Join({.id = "a", .instance = "2"}));
    At(175s, Failure("x"));
    EXPECT_EQ(StatusOf("x"), Status::kRetrying);
    At(175s, Bye("a"));
    Until(181s - 1ms);
    EXPECT_EQ(StatusOf("x"), Status::kPending);
    Until(181s);
    EXPECT_EQ(StatusOf("x"), Status::kFailed);
}

// The next leader begins in the very moment in which its clock is ahead.
TEST_F(ClockTest, ALeaderThatBeginsAheadLetsNothingExpireBeforeItsClockMayBeSet) {
    At(0s, Once({.id = "waits", .expires_after = 1h}));
    At(0s, Once({.id = "long", .expires_after = 3h}));
    JumpWall(2h);
    Restart(10s);
    At(11s, Join({.id = "a"}));
    Until(20s);
    EXPECT_EQ(StatusOf("waits"), Status::kPending) << "neither ended";
    EXPECT_THAT(AssignedIds(), ElementsAre("long")) << "nor started";
    At(21s, Success("long"));
    JumpWall(-2h);
    Until(22s);
    EXPECT_EQ(StatusOf("waits"), Status::kScheduled);
}

TEST_F(ClockTest, WhatWaitsBehindALeaderThatBeganAheadHasItsTimeOnceTheClockIsRight) {
    At(0s, Once({.id = "waits", .expires_after = 1h}));
    At(0s, Once({.id = "long", .expires_after = 3h}));
    JumpWall(2h);
    Restart(10s);
    Until(20s);
    JumpWall(-2h);
    Until(1h - 1ms);
    EXPECT_EQ(StatusOf("waits"), Status::kPending);
    Until(1h);
    EXPECT_EQ(StatusOf("waits"), Status::kFailed);
    Until(3h - 1ms);
    EXPECT_EQ(StatusOf("long"), Status::kPending);
    Until(3h);
    EXPECT_EQ(StatusOf("long"), Status::kFailed);
}

// Nobody led for two hours, which looks the same at first.
TEST_F(ClockTest, WhatExpiredWhileNobodyLedIsNeverStarted) {
    At(0s, Once({.id = "waits", .expires_after = 1h}));
    Down(2h);
    At(2h, Join({.id = "a"}));
    Until(2h + 1min - 1ms);
    EXPECT_EQ(StatusOf("waits"), Status::kPending);
    Until(2h + 1min);
    EXPECT_EQ(StatusOf("waits"), Status::kFailed);
    EXPECT_THAT(AssignedIds(), IsEmpty());
}

// The clock comes back on the leader that made it, or on the next.
class ExpiryAheadTest : public ClockTest, public ::testing::WithParamInterface<bool> {};

// An execution that was made by a clock ahead expires as long after that clock came back as it says,
// at the latest.
TEST_P(ExpiryAheadTest, WhatWaitsExpiresInItsTime) {
    Until(0s);
    JumpWall(24h * 30);
    At(1s, Once({.id = "waits", .expires_after = 5min}));
    At(1s, Once({.id = "delayed", .delay = 10s, .expires_after = 5min}));
    Until(2s);
    JumpWall(-24h * 30);
    if (GetParam()) Restart(3s);
    Until(5min);
    EXPECT_EQ(StatusOf("waits"), Status::kPending);
    EXPECT_EQ(StatusOf("delayed"), Status::kPending);
    Until(5min + 20s);
    EXPECT_EQ(StatusOf("waits"), Status::kFailed);
    EXPECT_EQ(StatusOf("delayed"), Status::kFailed);
}

INSTANTIATE_TEST_SUITE_P(Leaders, ExpiryAheadTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "TheNextOne" : "TheSame"; });

}  // namespace
}  // namespace takt::internal
