// Runs that take the place of others, and fires that come too late to start.
#include "engine/recurring_fixture.h"

namespace takt::internal {
namespace {

// A hundred runs are to be ended, and the leader dies after the first step.
TEST_F(RecurringTest, WhatIsReplacedIsEndedAlsoIfTheLeaderDies) {
    At(0s, Put({.every = 1s, .options = Parallel()}));
    Until(100s);
    ASSERT_EQ(engine().live_count(), 100u);
    At(100s + 500ms, Put({.every = 1s, .options = {.mode = Mode::kReplace}}));
    tick_between = false;
    At(101s, Tick{});
    ASSERT_GT(engine().live_count(), 1u);
    Restart(101s);
    tick_between = true;
    Until(101s + 900ms);

    EXPECT_EQ(engine().live_count(), 1u);
    EXPECT_EQ(TaskOf("report").state.replaced_below, 0u);
}

// The step that makes the new run has no room left to end the old one.
TEST_F(RecurringTest, ReplacingSurvivesTheLeaderInATiredStep) {
    At(0s, Join({.id = "a", .capacity = 1000}));
    At(0s, Put({.every = 10s, .options = {.mode = Mode::kReplace}}));
    Until(10s);
    for (int i = 0; i < 40; ++i) {
        At(11s, Once({.id = "d" + std::to_string(i), .run_at = 20s}));
    }
    tick_between = false;
    for (int i = 0; i < 2; ++i) At(20s, Tick{});
    Restart(20s);
    tick_between = true;
    At(20s, Join({.id = "a", .capacity = 1000}));
    Until(21s);

    std::size_t runs = 0;
    for (const Execution* run : RunsOf("report")) runs += !IsTerminal(run->status);
    EXPECT_EQ(runs, 1u);
}

// An execution that is run again later is nobody's predecessor: the next leader leaves it alone.
TEST_F(RecurringTest, ARunThatIsRunAgainBesideANewerOneIsNotReplacedByATakeover) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 1h, .options = {.mode = Mode::kReplace}}));
    Until(2h);
    At(2h + 1s, RedriveOf(RunOf("report", 0)));
    Restart(2h + 2s);
    Until(2h + 3s);
    EXPECT_EQ(engine().live_count(), 2u);
}

// --- Expiry of fires -----------------------------------------------------------------------------

TEST_F(RecurringTest, ARetryOfAFireThatIsRunAgainHasItsTime) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 1h,
                .fires_max = 1,
                .options = {.retry = RetryPolicy{.retries_max = 1, .delay = 1s, .jitter = 0},
                            .expires_after = 10min}}));
    Until(1h);
    const std::string run = RunOf("report", 0);
    At(1h, Failure(run, false));
    At(5h, RedriveOf(run));
    At(5h + 1s, Failure(run));
    Until(5h + 5s);
    EXPECT_EQ(StatusOf(run), Status::kScheduled);
}

// Nobody was there, it expired; in the morning somebody runs it again.
TEST_F(RecurringTest, ARetryOfAFireThatExpiredAndIsRunAgainHasItsTime) {
    At(0s, Put({.every = 1h,
                .fires_max = 1,
                .options = {.retry = RetryPolicy{.retries_max = 1, .delay = 1s, .jitter = 0},
                            .expires_after = 10min}}));
    Until(2h);
    const std::string run = RunOf("report", 0);
    ASSERT_EQ(Row(run).outcome->reason, Reason::kExpired);
    At(5h, Join({.id = "a", .capacity = 10}));
    At(5h, RedriveOf(run));
    At(5h + 1s, Failure(run));
    Until(5h + 5s);
    EXPECT_EQ(StatusOf(run), Status::kScheduled);
    At(5h + 6s, Failure(run));
    EXPECT_EQ(StatusOf(run), Status::kFailed);
}

TEST_F(RecurringTest, ARetryOfAFireWithJitterHasItsTime) {
    At(0s, Put({.every = 24h,
                .fires_max = 1,
                .jitter = 10h,
                .options = {.retry = RetryPolicy{.retries_max = 1, .delay = 1s, .jitter = 0},
                            .expires_after = 1min}}));
    Until(24h);
    const std::string run = RunOf("report", 0);
    const Duration ready = Row(run).ready_at - kBegin;
    At(ready, Join({.id = "a", .capacity = 10}));
    Until(ready + 1s);
    At(ready + 2s, Failure(run));
    Until(ready + 4s);
    EXPECT_EQ(StatusOf(run), Status::kScheduled);
}

// … and no more than that.
TEST_F(RecurringTest, ARetryOfAFireHasOnlyWhatIsLeftOfItsTime) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 1h,
                .fires_max = 1,
                .options = {.retry = RetryPolicy{.retries_max = 1, .delay = 20min, .jitter = 0},
                            .expires_after = 10min}}));
    Until(1h);
    At(1h + 1s, Failure(RunOf("report", 0)));
    Until(2h);
    EXPECT_EQ(Row(RunOf("report", 0)).outcome->reason, Reason::kExpired);
}

// A caller whose answer was lost asks again: the next leader, and when the run is long over.
TEST_F(RecurringTest, ATriggerWithAnIdRunsOnce) {
    const auto ask = [&](const char* payload = "") {
        Trigger trigger = TriggerOf("report", payload);
        trigger.execution = ExecutionId("mine");
        return trigger;
    };
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 24h}));
    At(1s, ask());
    At(2s, ask());
    At(3s, Success("mine"));
    Restart(4s);
    At(5s, ask());

    EXPECT_THAT(RunsOf("report"), ::testing::SizeIs(1));
    EXPECT_EQ(LastReply()->status, Status::kSuccess);
    At(6s, ask("other"));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
}

}  // namespace
}  // namespace takt::internal
