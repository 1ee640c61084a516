// One attempt: begun, ended, failed, timed out, cancelled, reported late.
#include "engine/history.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class AttemptTest : public History {
  protected:
    AttemptTest() { config.worker_lease = 24h; }

    static RetryPolicy Retry(std::uint32_t retries_max, Duration delay, double rate = 1.0,
                             double jitter = 0.0) {
        return {.retries_max = retries_max,
                .delay = delay,
                .backoff_rate = rate,
                .delay_max = 1h,
                .jitter = jitter};
    }
};

TEST_F(AttemptTest, AnAttemptBeginsRunsAndSucceeds) {
    At(0s, Join({.id = "a"}));
    At(1s, Once({.id = "x"}));
    At(2s, Begun("x"));
    EXPECT_EQ(StatusOf("x"), Status::kRunning);
    At(3s, Success("x"));

    EXPECT_EQ(StatusOf("x"), Status::kSuccess);
    EXPECT_EQ(Row("x").started_at, WallAt(2s));
    EXPECT_EQ(Row("x").finished_at, WallAt(3s));
    ASSERT_EQ(verdicts.size(), 1u);
    EXPECT_TRUE(verdicts[0].accepted);
    EXPECT_EQ(engine().live_count(), 0u);
    EXPECT_EQ(HandOf("a"), 0u);
}

// A short handler: its result overtakes the message that it began.
TEST_F(AttemptTest, AResultMayComeWithoutItsStart) {
    At(0s, Join({.id = "a"}));
    At(1s, Once({.id = "x"}));
    const Started late = Begun("x");
    At(2s, Success("x"));
    At(2s, late);

    EXPECT_EQ(StatusOf("x"), Status::kSuccess);
    ASSERT_EQ(stops.size(), 1u);
}

// The leader that was told that two attempts began dies before it writes it down. Their worker says
// to the next one for how long they have been running, or ran.
TEST_F(AttemptTest, WhenAnAttemptBeganSurvivesAChangeOfLeaders) {
    At(0s, Join({.id = "a", .capacity = 2}));
    At(1s, Once({.id = "x"}));
    At(1s, Once({.id = "y"}));
    Restart(10s);
    At(11s, Join({.id = "a", .capacity = 2, .holding = {RefOf("x"), RefOf("y")}}));
    Started running = Begun("x");
    running.ran = 9s;
    At(12s, running);
    At(13s, Success("x"));
    Report ended = Success("y");
    ended.ran = 8s;
    At(13s, ended);

    EXPECT_EQ(Row("x").started_at, WallAt(3s));
    EXPECT_EQ(Row("y").started_at, WallAt(5s));
    EXPECT_EQ(Row("y").finished_at, WallAt(13s));
}

// A worker that makes up its times cannot begin before there was anything to begin.
TEST_F(AttemptTest, NothingBeganBeforeItWasCreated) {
    At(0s, Join({.id = "a"}));
    At(5s, Once({.id = "x"}));
    Report ended = Success("x");
    ended.ran = kDurationMax;
    At(6s, ended);

    EXPECT_EQ(Row("x").started_at, WallAt(5s));
}

// --- Failures -----------------------------------------------------------------------------------

// The handler's database is down for a moment.
TEST_F(AttemptTest, AFailureIsRetriedAfterItsDelayUntilItSucceeds) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x", .retry = Retry(3, 10s)}));
    At(1s, Failure("x"));
    EXPECT_EQ(StatusOf("x"), Status::kRetrying);
    EXPECT_EQ(Row("x").outcome->message, "it did not work");
    Until(11s - 1ms);
    EXPECT_EQ(assigns.size(), 1u);
    Until(11s);
    EXPECT_EQ(assigns.size(), 2u);
    EXPECT_EQ(assigns.back().execution.attempt, 2u);
    At(12s, Success("x"));

    EXPECT_EQ(StatusOf("x"), Status::kSuccess);
    EXPECT_EQ(Row("x").failures, 1u);
}

TEST_F(AttemptTest, FailuresBeyondTheMaximumEndTheExecution) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x", .retry = Retry(2, 10s)}));
    At(1s, Failure("x"));
    Until(12s);
    At(12s, Failure("x"));
    Until(23s);
    At(23s, Failure("x"));

    EXPECT_EQ(StatusOf("x"), Status::kFailed);
    EXPECT_EQ(Row("x").failures, 3u);
    EXPECT_EQ(Row("x").attempt, 3u);
    EXPECT_EQ(Row("x").outcome->reason, Reason::kHandlerFailed);
}

TEST_F(AttemptTest, NoRetriesMeansOneAttempt) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x", .retry = Retry(0, 10s)}));
    At(1s, Failure("x"));

    EXPECT_EQ(StatusOf("x"), Status::kFailed);
}

// The payload is malformed: trying again cannot help.
TEST_F(AttemptTest, AFailureThatNoRetryCanMendEndsTheExecution) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x", .retry = Retry(5, 10s)}));
    At(1s, Failure("x", false));

    EXPECT_EQ(StatusOf("x"), Status::kFailed);
    EXPECT_EQ(Row("x").failures, 1u);
}

TEST_F(AttemptTest, DelaysGrowByTheRateUpToTheCap) {
    RetryPolicy retry = Retry(10, 10s, 3.0);
    retry.delay_max = 60s;
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x", .retry = retry}));
    Duration now = 1s;
    for (const Duration expected : {10s, 30s, 60s, 60s}) {
        Until(now);
        At(now, Failure("x"));
        EXPECT_EQ(Row("x").ready_at, WallAt(now + expected));
        now += expected + 1s;
    }
}

// A thousand that failed together must not come back together.
TEST_F(AttemptTest, JitterOnlyShortensADelayAndStaysInItsBounds) {
    At(0s, Join({.id = "a", .capacity = 200}));
    Duration shortest = 1h;
    Duration longest = 0s;
    for (int i = 0; i < 200; ++i) {
        const std::string id = "x" + std::to_string(i);
        At(1s, Once({.id = id, .retry = Retry(1, 100s, 1.0, 0.25)}));
        At(1s, Failure(id));
        const Duration delay = Row(id).ready_at - WallAt(1s);
        shortest = std::min(shortest, delay);
        longest = std::max(longest, delay);
    }
    EXPECT_GE(shortest, 75s);
    EXPECT_LT(shortest, 80s);
    EXPECT_GT(longest, 95s);
    EXPECT_LE(longest, 100s);
}

// The failures of an execution are no secret of one leader.
TEST_F(AttemptTest, FailuresAreCountedOnAcrossLeaders) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x", .retry = Retry(1, 10s)}));
    At(1s, Failure("x"));
    Restart(5s);
    At(6s, Join({.id = "a"}));
    Until(11s);
    EXPECT_EQ(Row("x").attempt, 2u);
    At(12s, Failure("x"));

    EXPECT_EQ(StatusOf("x"), Status::kFailed);
}

// --- Tokens -------------------------------------------------------------------------------------

// A worker was thought lost, another has the execution, and then the first one reports.
TEST_F(AttemptTest, AReportOfAnEarlierAttemptDoesNotEndTheCurrentOne) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x"}));
    const AttemptRef first = RefOf("x");
    At(1s, Set("a", WorkerStatus::kOffline));
    At(2s, Join({.id = "b"}));
    ASSERT_EQ(Row("x").attempt, 2u);

    At(3s, ReportOf(first, "a", true));

    EXPECT_EQ(StatusOf("x"), Status::kScheduled);
    ASSERT_EQ(verdicts.size(), 1u);
    EXPECT_FALSE(verdicts[0].accepted);
    At(4s, Success("x"));
    EXPECT_EQ(StatusOf("x"), Status::kSuccess);
}

// Somebody guesses: the number is right, the token is not.
TEST_F(AttemptTest, AReportWithAForeignTokenIsRefused) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x"}));
    AttemptRef forged = RefOf("x");
    forged.token[3] ^= 1;
    At(1s, ReportOf(forged, "a", true));

    EXPECT_EQ(StatusOf("x"), Status::kScheduled);
    EXPECT_FALSE(verdicts.at(0).accepted);
}

// The acknowledgement was lost, and the worker reports again.
TEST_F(AttemptTest, AStartOfAnEarlierAttemptIsToldToStop) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x"}));
    const Started first = Begun("x");
    At(1s, Set("a", WorkerStatus::kOffline));
    At(2s, first);

    ASSERT_EQ(stops.size(), 1u);
    EXPECT_EQ(stops[0].attempt, first.attempt);
    EXPECT_EQ(StatusOf("x"), Status::kPending);
}

// --- Timeouts -----------------------------------------------------------------------------------

// The handler hangs and the worker says nothing of it.
TEST_F(AttemptTest, AnAttemptThatIsSilentBeyondItsTimeoutIsStoppedAndRetried) {
    At(0s, Join({.id = "a", .capacity = 2}));
    At(0s, Once({.id = "x", .timeout = 60s, .retry = Retry(1, 10s)}));
    EXPECT_EQ(assigns[0].timeout, 60s);
    At(60s, Beat("a"));
    Until(60s + config.timeout_grace - 1ms);
    EXPECT_EQ(StatusOf("x"), Status::kScheduled);
    Until(60s + config.timeout_grace);

    EXPECT_EQ(StatusOf("x"), Status::kRetrying);
    EXPECT_EQ(Row("x").outcome->reason, Reason::kTimeout);
    EXPECT_EQ(Row("x").failures, 1u);
    ASSERT_EQ(stops.size(), 1u);
    EXPECT_EQ(stops[0].reason, Reason::kTimeout);
}

TEST_F(AttemptTest, TheTimeoutCountsFromTheStart) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x", .timeout = 60s}));
    At(50s, Begun("x"));
    At(50s + 60s, Beat("a"));
    Until(50s + 60s + config.timeout_grace - 1ms);
    EXPECT_EQ(StatusOf("x"), Status::kRunning);
    Until(50s + 60s + config.timeout_grace);
    EXPECT_EQ(StatusOf("x"), Status::kRetrying);
}

// The store takes no commit for seven seconds: a failover. What was never sent has no time to
// exceed, and has it all once it is sent.
TEST_F(AttemptTest, AnAttemptThatWasNotSentYetDoesNotTimeOut) {
    At(0s, Join({.id = "a"}));
    Gather();
    At(1s, Once({.timeout = 1s, .retry = Retry(0, 0s)}));
    Until(8s);
    Commit();
    ASSERT_EQ(assigns.size(), 1u);
    const std::string id = AssignedIds()[0];
    EXPECT_EQ(StatusOf(id), Status::kScheduled);
    At(9s, Beat("a"));
    Until(9s + config.timeout_grace - 1ms);
    EXPECT_EQ(StatusOf(id), Status::kScheduled);
    Until(9s + config.timeout_grace);

    EXPECT_EQ(StatusOf(id), Status::kFailed);
    EXPECT_EQ(Row(id).outcome->reason, Reason::kTimeout);
}

// A service is called by a link that has only so many calls open at once: what waits there has not
// been sent. Its link says when it is.
TEST_F(AttemptTest, WhatWaitsForACallToAServiceDoesNotTimeOut) {
    At(0s, Join({.id = "a", .link = LinkKind::kPush}));
    At(1s, Once({.id = "x", .timeout = 1s, .retry = Retry(0, 0s)}));
    Until(1min);
    EXPECT_EQ(StatusOf("x"), Status::kScheduled);
    At(1min, Begun("x"));
    Until(1min + 1s + config.timeout_grace - 1ms);
    EXPECT_EQ(StatusOf("x"), Status::kRunning);
    Until(1min + 1s + config.timeout_grace);

    EXPECT_EQ(Row("x").outcome->reason, Reason::kTimeout);
}

// Sent late, but before its time would have been over by the moment of its decision.
TEST_F(AttemptTest, ATimeoutCountsFromWhenTheAttemptWasSent) {
    At(0s, Join({.id = "a"}));
    Gather();
    At(1s, Once({.timeout = 1s}));
    Until(6s);
    Commit();
    const std::string id = AssignedIds().at(0);
    At(7s, Beat("a"));
    Until(7s + config.timeout_grace - 1ms);
    EXPECT_EQ(StatusOf(id), Status::kScheduled);
    Until(7s + config.timeout_grace);

    EXPECT_NE(StatusOf(id), Status::kScheduled);
}

TEST_F(AttemptTest, AReportAfterTheTimeoutIsStaleAndFreesTheRoom) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x", .timeout = 60s, .retry = Retry(0, 0s)}));
    const Report late = Success("x");
    At(1s, Once({.id = "next"}));
    At(61s, Beat("a"));
    Until(65s);
    EXPECT_EQ(StatusOf("x"), Status::kFailed);
    EXPECT_EQ(StatusOf("next"), Status::kPending) << "the worker is still busy with the first";
    At(70s, late);

    EXPECT_FALSE(verdicts.at(0).accepted);
    EXPECT_EQ(StatusOf("x"), Status::kFailed);
    EXPECT_EQ(StatusOf("next"), Status::kScheduled);
}

// An HTTP executor never tells that it stopped: it must not be full for ever.
TEST_F(AttemptTest, ATimeoutAtAPushWorkerFreesItsRoomAtOnce) {
    At(0s, Join({.id = "a", .link = LinkKind::kPush}));
    At(0s, Once({.id = "x", .timeout = 60s, .retry = Retry(0, 0s)}));
    At(0s, Begun("x"));
    At(1s, Once({.id = "next"}));
    Until(65s);

    EXPECT_EQ(StatusOf("next"), Status::kScheduled);
}

// --- Cancelling ---------------------------------------------------------------------------------

TEST_F(AttemptTest, CancellingWhatWaitsEndsIt) {
    At(0s, Once({.id = "ready"}));
    At(0s, Once({.id = "later", .delay = 1h}));
    At(1s, CancelOf("ready"));
    ASSERT_TRUE(LastReply());
    EXPECT_EQ(LastReply()->status, Status::kCancelled);
    At(1s, CancelOf("later"));
    At(2s, Join({.id = "a", .capacity = 9}));
    Until(2h);

    EXPECT_EQ(StatusOf("ready"), Status::kCancelled);
    EXPECT_EQ(StatusOf("later"), Status::kCancelled);
    EXPECT_EQ(Row("later").outcome->reason, Reason::kCancelled);
    EXPECT_EQ(Row("later").outcome->message, "not needed");
    EXPECT_THAT(assigns, IsEmpty());
}

TEST_F(AttemptTest, CancellingBetweenAttemptsPreventsTheNext) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x", .retry = Retry(3, 10s)}));
    At(1s, Failure("x"));
    At(2s, CancelOf("x"));
    Until(1h);

    EXPECT_EQ(StatusOf("x"), Status::kCancelled);
    EXPECT_EQ(assigns.size(), 1u);
}

// The worker is told, but until it says that it stopped its hands are not free: a worker with room
// for one must never run two.
TEST_F(AttemptTest, CancellingWhatRunsTellsTheWorkerAndKeepsItsRoomUntilItStopped) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x"}));
    At(0s, Once({.id = "next"}));
    At(1s, Begun("x"));
    const Report stopped = Failure("x");
    At(2s, CancelOf("x"));

    EXPECT_EQ(StatusOf("x"), Status::kCancelled);
    ASSERT_EQ(stops.size(), 1u);
    EXPECT_EQ(stops[0].attempt, stopped.attempt);
    EXPECT_EQ(stops[0].reason, Reason::kCancelled);
    EXPECT_THAT(AssignedIds(), ElementsAre("x"));
    At(3s, stopped);
    EXPECT_FALSE(verdicts.at(0).accepted);
    EXPECT_THAT(AssignedIds(), ElementsAre("x", "next"));
}

}  // namespace
}  // namespace takt::internal
