// Things that a leader change must not disturb: clocks of two machines, results on their way.
#include <utility>

#include "base/failpoint.h"
#include "engine/history.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class TakeoverTest : public History {
  protected:
    void SetUp() override { config.worker_lease = 30s; }
};

// --- Clocks -------------------------------------------------------------------------------------

// Submitted to run at once, by a leader whose clock is five minutes ahead of the next one's.
TEST_F(TakeoverTest, WhatWasToRunAtOnceRunsAtOnceUnderTheNextLeader) {
    JumpWall(5min);
    At(0s, Once({.id = "x"}));
    JumpWall(-5min);
    Restart(1s);
    At(2s, Join({.id = "a"}));

    EXPECT_EQ(StatusOf("x"), Status::kScheduled);
}

TEST_F(TakeoverTest, AFireThatWasMadeRunsUnderTheNextLeader) {
    At(0s, Put({.every = 1h}));
    JumpWall(1h);
    Until(1s);
    ASSERT_THAT(RunsOf("report"), SizeIs(1));
    JumpWall(-1h);
    Restart(2s);
    At(3s, Join({.id = "a"}));

    EXPECT_EQ(StatusOf(RunOf("report", 0)), Status::kScheduled);
}

TEST_F(TakeoverTest, WhatAWorkerGaveBackRunsUnderTheNextLeader) {
    JumpWall(5min);
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x"}));
    At(1s, Bye("a"));
    JumpWall(-5min);
    Restart(2s);
    At(3s, Join({.id = "b"}));

    EXPECT_EQ(StatusOf("x"), Status::kScheduled);
}

TEST_F(TakeoverTest, WhatHasATimeStillWaitsForIt) {
    At(0s, Once({.id = "at", .run_at = 1h}));
    At(0s, Once({.id = "delayed", .delay = 1h}));
    Restart(1s);
    At(2s, Join({.id = "a", .capacity = 10}));
    EXPECT_EQ(CodeOf("at"), "not_due");
    EXPECT_EQ(CodeOf("delayed"), "not_due");
    At(20s, Beat("a"));
    for (Duration at = 40s; at < 1h; at += 20s) At(at, Beat("a"));
    Until(1h);

    EXPECT_EQ(HandOf("a"), 2u);
}

// README: "A leader change does not disturb what runs." The next leader's clock is ahead.
TEST_F(TakeoverTest, ALeaderWhoseClockIsAheadDoesNotEndWhatRuns) {
    config.timeout = 5min;
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x"}));
    At(1s, Begun("x"));
    const AttemptRef ref = RefOf("x");
    JumpWall(5min);
    Restart(10s);
    At(11s, Join({.id = "a", .holding = {ref}}));
    At(20s, Beat("a"));

    EXPECT_EQ(StatusOf("x"), Status::kRunning);
}

// Its worker ends it by its own clock; if the worker hangs, the leader does.
TEST_F(TakeoverTest, ATimeoutBeginsAnewUnderTheNextLeader) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x", .timeout = 60s}));
    At(1s, Begun("x"));
    At(20s, Beat("a"));
    Restart(40s);
    At(41s, Join({.id = "a", .holding = {RefOf("x")}}));
    for (Duration at = 50s; at <= 100s; at += 10s) At(at, Beat("a"));
    Until(100s + config.timeout_grace - 1ms);
    EXPECT_EQ(StatusOf("x"), Status::kRunning);
    Until(100s + config.timeout_grace);

    EXPECT_EQ(StatusOf("x"), Status::kRetrying);
    EXPECT_EQ(Row("x").losses, 0u);
}

// The worker had the result in time and found nobody to tell: the next leader hears of it when the
// worker is back, however short the timeout was, and does not run it again.
TEST_F(TakeoverTest, WhatEndedInTimeIsNotTimedOutWhileItsWorkerIsAway) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x", .timeout = 1s}));
    At(0s, Begun("x"));
    const AttemptRef ref = RefOf("x");
    Restart(1s);
    const Duration back = 3s + config.timeout_grace;
    ASSERT_LT(back, 1s + config.worker_lease);
    Until(back);
    EXPECT_EQ(StatusOf("x"), Status::kRunning);
    At(back, Join({.id = "a", .holding = {ref}}));
    Until(back + 1s);
    At(back + 1s, Success("x"));

    EXPECT_EQ(StatusOf("x"), Status::kSuccess);
}

// A switch on the way is started anew: nothing comes through, and nobody is told. It had its result in
// time, which comes as soon as anything does.
TEST_F(TakeoverTest, WhatEndedInTimeIsNotTimedOutWhileNothingIsHeardOfItsWorker) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x", .timeout = 2s}));
    At(0s, Begun("x"));
    const Duration back = 4s + 2 * config.timeout_grace;
    ASSERT_LT(back, config.worker_lease);
    Until(back);
    EXPECT_EQ(StatusOf("x"), Status::kRunning);
    At(back, Success("x"));

    EXPECT_EQ(StatusOf("x"), Status::kSuccess);
}

// It came back with it in its hand, and says no more: its time is over.
TEST_F(TakeoverTest, WhatItsWorkerBringsBackAndNeverEndsTimesOut) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x", .timeout = 1s}));
    At(0s, Begun("x"));
    const AttemptRef ref = RefOf("x");
    Restart(1s);
    const Duration back = 3s + config.timeout_grace;
    At(back, Join({.id = "a", .holding = {ref}}));
    Until(back + config.timeout_grace - 1ms);
    EXPECT_EQ(StatusOf("x"), Status::kRunning);
    Until(back + config.timeout_grace);

    EXPECT_EQ(StatusOf("x"), Status::kRetrying);
    EXPECT_EQ(Row("x").outcome->reason, Reason::kTimeout);
}

// It ended while nobody led; the worker could tell only the next leader, and says how long ago that
// was. What people see is how long it took, not how long nobody led.
TEST_F(TakeoverTest, WhatEndedWhileNobodyLedTookAsLongAsItTook) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x"}));
    At(1s, Begun("x"));
    const AttemptRef ref = RefOf("x");
    Restart(20s);
    At(21s, Join({.id = "a", .holding = {ref}}));
    Report report = Success("x");
    report.ran = 4s;
    report.ended_ago = 16s;
    At(21s, report);

    EXPECT_EQ(Row("x").finished_at, WallAt(5s));
    EXPECT_EQ(Row("x").finished_at - Row("x").started_at, 4s);
}

// A worker's word is not taken for more than can be.
TEST_F(TakeoverTest, NothingEndedBeforeItWasMade) {
    At(0s, Join({.id = "a"}));
    At(10s, Once({.id = "x", .retry = RetryPolicy{.retries_max = 0}}));
    Report report = Failure("x");
    report.ran = 1h;
    report.ended_ago = 2h;
    At(11s, report);

    EXPECT_EQ(Row("x").started_at, WallAt(10s));
    EXPECT_EQ(Row("x").finished_at, WallAt(10s));
}

// --- Results whose verdict was lost on the way --------------------------------------------------

class RepeatedReportTest : public TakeoverTest {
  protected:
    // The worker comes back with the attempt, and reports it again.
    void ReportAgain(Duration at, Report report) {
        At(at, Join({.id = "a", .holding = {report.attempt}}));
        report.session = SessionOf("a");
        verdicts.clear();
        At(at + 1ms, report);
    }
};

TEST_F(RepeatedReportTest, AWorkerIsToldThatItsResultIsTheStoredOne) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x"}));
    const Report report = Success("x");
    At(1s, report);
    ReportAgain(2s, report);

    ASSERT_THAT(verdicts, SizeIs(1));
    EXPECT_TRUE(verdicts[0].accepted);
    EXPECT_THAT(stops, IsEmpty());
    EXPECT_EQ(engine().counters().succeeded, 1u);
    EXPECT_EQ(engine().counters().stale, 0u);
    At(3s, Once({.id = "y"}));
    EXPECT_EQ(StatusOf("y"), Status::kScheduled) << "the old attempt takes up no room any more";
}

// The handler ran twice, by a fault of the worker, and came to another result.
TEST_F(RepeatedReportTest, ADifferentResultOfTheSameAttemptIsRefused) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x"}));
    const auto with = [&](const char* data) {
        Report report = Success("x");
        auto outcome = boost::intrusive_ptr<Outcome>(new Outcome);
        outcome->data = data;
        report.outcome = outcome;
        return report;
    };
    Report other = with("2");
    Report none = with("");
    At(1s, with("1"));
    ReportAgain(2s, other);
    ASSERT_THAT(verdicts, SizeIs(1));
    EXPECT_FALSE(verdicts[0].accepted);
    ReportAgain(3s, none);
    ASSERT_THAT(verdicts, SizeIs(1));
    EXPECT_FALSE(verdicts[0].accepted);
}

TEST_F(RepeatedReportTest, AlsoByTheNextLeader) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x"}));
    const Report report = Failure("x", false);
    At(1s, report);
    EXPECT_EQ(StatusOf("x"), Status::kFailed);
    Restart(2s);
    ReportAgain(3s, report);

    ASSERT_THAT(verdicts, SizeIs(1));
    EXPECT_TRUE(verdicts[0].accepted);
    EXPECT_THAT(stops, IsEmpty());
}

TEST_F(RepeatedReportTest, AFailureThatIsRetriedIsStoredToo) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x", .retry = RetryPolicy{.retries_max = 3, .delay = 1h, .jitter = 0}}));
    const Report report = Failure("x");
    At(1s, report);
    ReportAgain(2s, report);

    ASSERT_THAT(verdicts, SizeIs(1));
    EXPECT_TRUE(verdicts[0].accepted);
    EXPECT_THAT(stops, IsEmpty());
    EXPECT_EQ(Row("x").failures, 1u);
}

TEST_F(RepeatedReportTest, AnotherResultThanTheStoredOneIsRefused) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x"}));
    const AttemptRef ref = RefOf("x");
    At(1s, Success("x"));
    ReportAgain(2s, ReportOf(ref, "a", false));

    ASSERT_THAT(verdicts, SizeIs(1));
    EXPECT_FALSE(verdicts[0].accepted);
    EXPECT_EQ(engine().counters().stale, 1u);
}

// Cancelled while its worker was away: what it brings does not count, and it must stop.
TEST_F(RepeatedReportTest, WhatWasEndedWithoutTheWorkerIsStoppedAndRefused) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x"}));
    const Report report = Success("x");
    At(1s, Cut("a"));
    At(2s, CancelOf("x"));
    ReportAgain(3s, report);

    ASSERT_THAT(verdicts, SizeIs(1));
    EXPECT_FALSE(verdicts[0].accepted);
    ASSERT_THAT(stops, SizeIs(1));
    EXPECT_EQ(stops[0].reason, Reason::kCancelled);
}

// Somebody says how it ended while its worker is cut off. That was not the worker's word, though it
// says the same: the handler is at work, and must stop. Asked of the next leader too, which has
// only the row.
class ConcludedTest : public RepeatedReportTest,
                      public ::testing::WithParamInterface<std::pair<Status, bool>> {};

TEST_P(ConcludedTest, WhatWasConcludedWithoutTheWorkerIsStoppedAndRefused) {
    ASSERT_TRUE(StartFailPoints());
    const auto [status, next_leader] = GetParam();
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x"}));
    const Report report = status == Status::kSuccess ? Success("x") : Failure("x", false);
    At(1s, Cut("a"));
    At(2s, Conclude{.execution = ExecutionId("x"), .status = status, .outcome = report.outcome});
    ASSERT_EQ(StatusOf("x"), status);
    ASSERT_THAT(stops, IsEmpty());
    if (next_leader) Restart(3s);
    ReportAgain(4s, report);

    ASSERT_THAT(stops, SizeIs(1));
    EXPECT_EQ(stops[0].attempt, report.attempt);
    EXPECT_EQ(stops[0].reason, Reason::kCancelled);
    ASSERT_THAT(verdicts, SizeIs(1));
    EXPECT_FALSE(verdicts[0].accepted);
}

INSTANTIATE_TEST_SUITE_P(Word, ConcludedTest,
                         ::testing::Values(std::pair(Status::kSuccess, false),
                                           std::pair(Status::kSuccess, true),
                                           std::pair(Status::kFailed, false),
                                           std::pair(Status::kFailed, true)));

// It was not told that its time was over, and somebody says that the execution failed before it is
// tried again: the handler is at work, and must stop.
TEST_F(RepeatedReportTest, WhatRanOutOfTimeIsStoppedAlsoIfSomebodyConcludedItSince) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x", .timeout = 10s, .retry = RetryPolicy{.delay = 1h, .jitter = 0}}));
    At(0s, Begun("x"));
    const Report report = Failure("x");
    At(10s, Beat("a"));
    Until(10s + config.timeout_grace);
    ASSERT_EQ(StatusOf("x"), Status::kRetrying);
    At(16s, Cut("a"));
    At(16s,
       Conclude{
           .execution = ExecutionId("x"), .status = Status::kFailed, .outcome = report.outcome});
    stops.clear();
    ReportAgain(17s, report);

    ASSERT_THAT(stops, SizeIs(1));
    EXPECT_EQ(stops[0].attempt, report.attempt);
    EXPECT_EQ(stops[0].reason, Reason::kTimeout);
}

// Its first attempt failed, its second was taken for lost with its worker: the failure that is
// stored is the first one's. The worker comes back with the second and must stop it, or a handler
// that hangs keeps its place for good.
TEST_F(RepeatedReportTest, AnAttemptThatWasLostIsStoppedAlsoIfAnEarlierOneFailed) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x", .retry = RetryPolicy{.retries_max = 3, .delay = 1s, .jitter = 0}}));
    At(1s, Failure("x"));
    At(3s, Tick{});
    ASSERT_EQ(Row("x").attempt, 2u);
    const Report report = Failure("x");
    At(4s, Set("a", WorkerStatus::kOffline));
    ASSERT_EQ(StatusOf("x"), Status::kPending);
    stops.clear();
    ReportAgain(5s, report);

    ASSERT_THAT(stops, SizeIs(1));
    EXPECT_EQ(stops[0].attempt, report.attempt);
    EXPECT_EQ(stops[0].reason, Reason::kWorkerLost);
    ASSERT_THAT(verdicts, SizeIs(1));
    EXPECT_FALSE(verdicts[0].accepted);
}

TEST_F(RepeatedReportTest, AForeignTokenIsRefused) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x"}));
    Report report = Success("x");
    At(1s, report);
    report.attempt.token[0] ^= 1;
    ReportAgain(2s, report);

    ASSERT_THAT(verdicts, SizeIs(1));
    EXPECT_FALSE(verdicts[0].accepted);
    EXPECT_THAT(stops, SizeIs(1));
}

// Redis failed over and lost an attempt that a worker has in hand. The same number is given again, to
// the same worker, and cancelled: that worker has two to stop, and is done with one of them.
TEST_F(TakeoverTest, AnAttemptThatTheStoreLostIsToldApartFromTheOneWithItsNumber) {
    At(0ms, Once({.id = "x"}));
    const AttemptRef lost{ExecutionId("x"), 1, Token{1}};
    At(1ms, Join({.id = "a", .capacity = 2, .holding = {lost}}));
    At(2ms, CancelOf("x"));
    At(3ms, Once({.id = "y"}));
    At(3ms, Once({.id = "z"}));
    ASSERT_THAT(AssignedIds(), ElementsAre("x"));

    At(4ms, Report{SessionOf("a"), lost, false, true, nullptr});

    EXPECT_THAT(AssignedIds(), ElementsAre("x", "y")) << "the other one still takes up room";
}

}  // namespace
}  // namespace takt::internal
