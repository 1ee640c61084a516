// Execution modes: what a fire does when the previous run is still going.
#include "engine/history.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ModeTest : public History {
  protected:
    void SetUp() override { config.worker_lease = config.timeout = 24h; }
    Status RunStatus(std::size_t index) { return StatusOf(RunOf("report", index)); }
};

TEST_F(ModeTest, SequentialRunsGoOneAfterTheOther) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 1s}));
    Until(3s);
    EXPECT_EQ(HandOf("a"), 1u);
    EXPECT_EQ(CodeOf(RunOf("report", 1)), "previous_run");
    At(3s, Success(RunOf("report", 0)));

    EXPECT_EQ(RunStatus(1), Status::kScheduled);
    EXPECT_EQ(RunStatus(2), Status::kPending);
}

// Between two attempts a run has not ended.
TEST_F(ModeTest, ARunKeepsItsTurnThroughItsRetries) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 10s,
                .options = {.retry = RetryPolicy{.retries_max = 1, .delay = 1h, .jitter = 0}}}));
    Until(11s);
    At(11s, Failure(RunOf("report", 0)));
    Until(30min);
    EXPECT_EQ(HandOf("a"), 0u);
    Restart(31min);
    At(31min, Join({.id = "a", .capacity = 10}));
    EXPECT_EQ(HandOf("a"), 0u);
    Until(1h + 11s);
    EXPECT_EQ(RunStatus(0), Status::kScheduled);
    At(1h + 12s, Failure(RunOf("report", 0)));

    EXPECT_EQ(RunStatus(0), Status::kFailed);
    EXPECT_EQ(RunStatus(1), Status::kScheduled);
    EXPECT_EQ(HandOf("a"), 1u);
}

TEST_F(ModeTest, ALostWorkerKeepsTheTurnOfTheRun) {
    config.worker_lease = 30s;
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 20s}));
    Until(61s);
    EXPECT_EQ(RunStatus(0), Status::kPending);
    At(62s, Join({.id = "b", .capacity = 10}));

    EXPECT_EQ(RunStatus(0), Status::kScheduled);
    EXPECT_EQ(HandOf("b"), 1u);
}

// The task takes longer than its interval, for days.
TEST_F(ModeTest, FiresBeyondTheBacklogAreSkipped) {
    At(0s, Join({.id = "a"}));
    At(0s, Put({.every = 1s, .options = {.backlog_max = 2}}));
    Until(5s);

    EXPECT_THAT(DueOf("report", Status::kPending), ElementsAre(2'000, 3'000));
    EXPECT_THAT(DueOf("report", Status::kSkipped), ElementsAre(4'000, 5'000));
    EXPECT_EQ(RunsOf("report")[4]->outcome->reason, Reason::kSkipped);
    EXPECT_EQ(TaskOf("report").state.fires, 5u);
    EXPECT_EQ(EventCount(EventType::kTaskSkipped), 2u);
}

TEST_F(ModeTest, FiresWhoseJitterIsNotOverCountAsBacklog) {
    At(0s, Put({.every = 1s, .jitter = 1h, .options = {.backlog_max = 3}}));
    Until(30s);

    EXPECT_LE(engine().live_count(), 4u);
}

TEST_F(ModeTest, ARestartKeepsTheOrderAndTheTurn) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 1s, .fires_max = 4}));
    Until(4s);
    Restart(5s);
    At(5s, Join({.id = "a", .capacity = 10, .holding = {RefOf(RunOf("report", 0))}}));
    EXPECT_EQ(HandOf("a"), 1u);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(RunStatus(i), Status::kScheduled) << i;
        EXPECT_EQ(HandOf("a"), 1u);
        At(6s, Success(RunOf("report", i)));
    }
    EXPECT_EQ(engine().live_count(), 0u);
}

// Every end of a run gives its turn back: success, failure, cancellation, expiry, an operator.
TEST_F(ModeTest, EveryEndOfARunGivesItsTurnBack) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 1s, .fires_max = 6, .options = {.expires_after = 1min}}));
    Until(6s);
    At(7s, Success(RunOf("report", 0)));
    At(8s, Failure(RunOf("report", 1), false));
    At(9s, CancelOf(RunOf("report", 2)));
    At(9s, ReportOf(RefOf(RunOf("report", 2)), "a", false));
    At(10s, CancelOf(RunOf("report", 4)));  // While it waits for its turn.
    At(11s,
       Conclude{.execution = ExecutionId(Text(RunOf("report", 3))), .status = Status::kSuccess});
    At(11s, ReportOf(RefOf(RunOf("report", 3)), "a", true));
    EXPECT_EQ(RunStatus(5), Status::kScheduled);
    At(12s, TriggerOf("report"));
    Until(2min);  // It expires while it waits for its turn.
    EXPECT_EQ(RunStatus(6), Status::kFailed);
    At(2min, TriggerOf("report"));
    At(2min, Success(RunOf("report", 5)));

    EXPECT_EQ(RunStatus(7), Status::kScheduled);
}

TEST_F(ModeTest, ParallelRunsDoNotWaitForEachOther) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 1s, .options = {.mode = Mode::kParallel}}));
    Until(5s);

    EXPECT_EQ(HandOf("a"), 5u);
}

// No worker for a parallel task: its fires must not fill the memory.
TEST_F(ModeTest, FiresIntoAFullQueueAreSkipped) {
    config.pending_max = 3;
    At(0s, Put({.every = 1s, .options = {.mode = Mode::kParallel}}));
    Until(5s);

    EXPECT_THAT(DueOf("report", Status::kPending), ElementsAre(1'000, 2'000, 3'000));
    EXPECT_THAT(DueOf("report", Status::kSkipped), ElementsAre(4'000, 5'000));
}

TEST_F(ModeTest, SkipLeavesARecordOfWhatItDropped) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 1s, .options = {.mode = Mode::kSkip}}));
    Until(2s);
    At(2500ms, Success(RunOf("report", 0)));
    Until(3s);

    EXPECT_EQ(RunStatus(1), Status::kSkipped);
    EXPECT_EQ(RunsOf("report")[1]->outcome->reason, Reason::kSkipped);
    EXPECT_EQ(RunsOf("report")[1]->outcome->message, "the previous run was still going");
    EXPECT_EQ(RunStatus(2), Status::kScheduled);
}

TEST_F(ModeTest, ReplaceStopsTheOldRun) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 1s, .options = {.mode = Mode::kReplace}}));
    Until(2s);

    EXPECT_EQ(RunStatus(0), Status::kCancelled);
    EXPECT_EQ(RunsOf("report")[0]->outcome->reason, Reason::kReplaced);
    ASSERT_THAT(stops, SizeIs(1));
    EXPECT_EQ(stops[0].attempt, RefOf(RunOf("report", 0)));
    At(2s, ReportOf(stops[0].attempt, "a", false));
    EXPECT_EQ(RunStatus(1), Status::kScheduled);
    EXPECT_EQ(HandOf("a"), 1u);
}

TEST_F(ModeTest, ReplaceAlsoReplacesWhatWaits) {
    At(0s, Put({.every = 1s, .options = {.mode = Mode::kReplace}}));
    Until(3s);

    EXPECT_THAT(DueOf("report", Status::kPending), ElementsAre(3'000));
    EXPECT_THAT(DueOf("report", Status::kCancelled), ElementsAre(1'000, 2'000));
    EXPECT_THAT(stops, IsEmpty());
}

// A parallel task with a hundred runs becomes one that replaces.
TEST_F(ModeTest, ReplacingManyRunsTakesManySmallSteps) {
    At(0s, Put({.every = 1s, .fires_max = 100, .options = {.mode = Mode::kParallel}}));
    Until(100s);
    At(101s, Put({.every = 1h, .options = {.mode = Mode::kReplace}}));
    At(102s, TriggerOf("report"));
    Until(102s);

    EXPECT_THAT(DueOf("report", Status::kCancelled), SizeIs(100));
    EXPECT_THAT(DueOf("report", Status::kPending), ElementsAre(102'000));
    EXPECT_LE(changes_in_largest_step(), config.changes_per_step + 4);
}

// The run that is replaced makes room for one that has expired meanwhile, and is to be replaced,
// too.
TEST_F(ModeTest, ReplacingARunMayEndAnotherThatHasExpired) {
    At(0s, Join({.id = "a", .link = LinkKind::kPush}));
    At(0s, Put({.every = 1h, .options = {.expires_after = 5s, .mode = Mode::kReplace}}));
    At(1s, TriggerOf("report"));
    At(1s, TriggerOf("report", "", true));
    ASSERT_EQ(RunStatus(0), Status::kScheduled);
    ASSERT_EQ(RunStatus(1), Status::kPending);
    tick_between = false;
    At(10s, TriggerOf("report"));

    EXPECT_EQ(RunStatus(0), Status::kCancelled);
    EXPECT_EQ(RunStatus(1), Status::kFailed);
    EXPECT_EQ(RunsOf("report")[1]->outcome->reason, Reason::kExpired);
    EXPECT_EQ(engine().live_count(), 1u);
}

// Somebody triggers by force, again and again: those runs ask for no turn, and take none away.
TEST_F(ModeTest, ForcedRunsDoNotCountAsBacklog) {
    At(0s, Join({.id = "a"}));
    At(0s, Put({.every = 1h, .options = {.backlog_max = 2}}));
    for (int i = 0; i < 5; ++i) At(1s, TriggerOf("report", "", true));
    for (int i = 0; i < 4; ++i) At(2s, TriggerOf("report"));
    At(3s, Success(RunOf("report", 0)));
    At(3s, TriggerOf("report"));

    EXPECT_EQ(RunStatus(5), Status::kPending);
    EXPECT_EQ(RunStatus(6), Status::kPending);
    EXPECT_EQ(RunStatus(7), Status::kPending);
    EXPECT_EQ(RunStatus(8), Status::kSkipped);
    EXPECT_EQ(RunStatus(9), Status::kSkipped);
}

TEST_F(ModeTest, ATriggerObeysTheModeUnlessForced) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 1h}));
    At(0s, Put({.id = "skip", .every = 1h, .options = {.mode = Mode::kSkip}}));
    At(0s, Put({.id = "replace", .every = 1h, .options = {.mode = Mode::kReplace}}));
    for (const std::string task : {"report", "skip", "replace"}) {
        At(1s, TriggerOf(task));
        At(1s, TriggerOf(task));
        At(1s, TriggerOf(task, "", true));
    }

    At(2s, ReportOf(RefOf(RunOf("replace", 0)), "a", false));
    EXPECT_EQ(RunStatus(0), Status::kScheduled);
    EXPECT_EQ(RunStatus(1), Status::kPending);
    EXPECT_EQ(RunStatus(2), Status::kScheduled);
    EXPECT_EQ(StatusOf(RunOf("skip", 1)), Status::kSkipped);
    EXPECT_EQ(StatusOf(RunOf("skip", 2)), Status::kScheduled);
    EXPECT_EQ(StatusOf(RunOf("replace", 0)), Status::kCancelled);
    EXPECT_EQ(StatusOf(RunOf("replace", 1)), Status::kScheduled);
    EXPECT_EQ(StatusOf(RunOf("replace", 2)), Status::kScheduled);
    EXPECT_EQ(TaskOf("report").state.fires, 0u);
}

// An id that a run will give to one of its steps would be two executions'.
TEST_F(ModeTest, ATriggerCannotHaveTheIdOfAStep) {
    At(0s, Put({.id = "report", .every = 1h}));
    Trigger trigger = TriggerOf("report");
    trigger.execution = ExecutionId("run~0.0");
    At(1s, trigger);
    ASSERT_FALSE(LastReply());
    EXPECT_EQ(LastReply().error().code, ErrorCode::kInvalid);
    EXPECT_EQ(LastReply().error().field, "id");
}

TEST_F(ModeTest, ATriggerMayBringItsOwnPayload) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 1h, .payload = "all", .options = {.mode = Mode::kParallel}}));
    At(1s, TriggerOf("report", "only 2025"));
    ASSERT_TRUE(LastReply());
    EXPECT_EQ(LastReply()->input(), "only 2025");
    At(2s, TriggerOf("report"));

    EXPECT_EQ(assigns[0].execution.input(), "only 2025");
    EXPECT_EQ(assigns[0].execution.origin, Origin::kTrigger);
    EXPECT_EQ(assigns[1].execution.input(), "all");
}

// An operator turns a task with a backlog into a parallel one, to get rid of it.
TEST_F(ModeTest, ATaskThatBecomesParallelLetsItsBacklogGo) {
    At(0s, Join({.id = "a", .capacity = 100}));
    At(0s, Put({.every = 1s, .fires_max = 50}));
    Until(50s);
    EXPECT_EQ(HandOf("a"), 1u);
    At(51s, Put({.every = 1s, .fires_max = 50, .options = {.mode = Mode::kParallel}}));
    Until(51s);

    EXPECT_EQ(HandOf("a"), 50u);
    EXPECT_LE(changes_in_largest_step(), config.changes_per_step + 4);
}

TEST_F(ModeTest, AFailedRunThatIsRunAgainWaitsForItsTurn) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 10s, .options = {.expires_after = 1h}}));
    Until(11s);
    At(11s, Failure(RunOf("report", 0), false));
    Until(20s);
    At(5h, Success(RunOf("report", 1)));
    At(5h, Pause("report"));
    EXPECT_EQ(RunStatus(2), Status::kFailed);  // It expired while it waited.
    At(6h, RedriveOf(RunOf("report", 2)));
    ASSERT_TRUE(LastReply());

    // It is a fire of long ago, and has its whole time anew.
    EXPECT_NE(RunStatus(2), Status::kFailed);
    EXPECT_EQ(Row(RunOf("report", 2)).scheduled_at, kBegin + 30s);
}

// One run waits to be run again when the leader changes. The turn is the other's, who has begun.
TEST_F(ModeTest, ARunThatIsRunAgainDoesNotTakeATurnAtATakeover) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 10s, .fires_max = 2}));
    Until(10s);
    At(11s, Failure(RunOf("report", 0), false));
    Until(20s);
    At(21s, RedriveOf(RunOf("report", 0)));
    ASSERT_EQ(RunStatus(1), Status::kScheduled);
    ASSERT_EQ(RunStatus(0), Status::kPending);
    const AttemptRef held = RefOf(RunOf("report", 1));
    Restart(22s);
    At(23s, Join({.id = "a", .capacity = 10, .holding = {held}}));

    EXPECT_EQ(RunStatus(0), Status::kPending);
    At(24s, Success(RunOf("report", 1)));
    EXPECT_EQ(RunStatus(0), Status::kScheduled);
}

}  // namespace
}  // namespace takt::internal
