// Recurring tasks that are changed, deleted, paused and resumed: what that keeps, misses and tells.
#include "engine/recurring_fixture.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// --- Told ---------------------------------------------------------------------------------------

// Somebody has the page of a task open while somebody else works on it.
TEST_F(RecurringTest, WhoWatchesIsToldOfChangesToTasksAndQueues) {
    At(0s, Put({.cron = "0 0 1 1 *"}));
    At(1s, Put({.cron = "0 0 2 1 *"}));
    At(2s, Pause("report"));
    At(3s, Resume("report"));
    At(4s, Limit("slow", {.paused = true}));
    At(5s, Drop("report"));
    Until(6s);

    EXPECT_EQ(EventCount(EventType::kTaskChanged), 4u);
    EXPECT_EQ(EventCount(EventType::kQueueChanged), 1u);
    EXPECT_EQ(EventCount(EventType::kTaskDeleted), 1u);
}

// --- Changing a task ----------------------------------------------------------------------------

// Somebody has a task open in an editor, somebody else pauses it; what the first one writes back says
// that it is enabled.
TEST_F(RecurringTest, AChangeOfATaskThatWasPausedMeanwhileIsRefused) {
    At(0s, Put({.cron = "0 0 1 1 *"}));
    At(0s, Pause("report"));
    EXPECT_EQ(TaskOf("report").task->version, 2u) << "also within one millisecond";
    PutTask late = Put({.cron = "0 0 1 1 *"});
    late.if_version = 1;
    late.paused = false;
    At(1s, std::move(late));
    EXPECT_TRUE(TaskOf("report").state.paused);
    At(2s, Pause("report"));
    EXPECT_EQ(TaskOf("report").task->version, 2u) << "it was paused already";
    At(3s, Resume("report"));
    EXPECT_EQ(TaskOf("report").task->version, 3u);
    EXPECT_EQ(TaskOf("report").task->updated_at, kBegin + 3s);
    PutTask both = Put({.cron = "0 0 2 1 *"});
    both.paused = true;
    At(4s, std::move(both));
    EXPECT_EQ(TaskOf("report").task->version, 4u) << "one change, one version";
}

TEST_F(RecurringTest, PuttingATaskAgainRaisesItsVersionAndKeepsItsPlace) {
    At(0s, Put({.every = 10s, .options = Parallel()}));
    At(15s, Put({.every = 10s, .payload = "new", .options = Parallel()}));
    Until(20s);

    EXPECT_EQ(TaskOf("report").task->version, 2u);
    EXPECT_EQ(TaskOf("report").task->created_at, kBegin);
    EXPECT_EQ(TaskOf("report").state.fires, 2u);
    EXPECT_THAT(Due(), ElementsAre(10'000, 20'000));
    EXPECT_EQ(RunsOf("report")[0]->input(), "");
    EXPECT_EQ(RunsOf("report")[1]->input(), "new");
}

// A program puts its tasks when it starts, and it starts when the scheduler does.
TEST_F(RecurringTest, PuttingATaskAgainAfterDowntimeStillMakesUpForWhatWasMissed) {
    At(0s, Put({.cron = "0 * * * *"}));
    Down(90min);
    tick_between = false;  // The put comes before the leader has looked at anything.
    At(90min, Put({.cron = "0 * * * *"}));

    EXPECT_THAT(Due(), ElementsAre(Duration(1h).count()));
}

TEST_F(RecurringTest, OtherTimesLeaveARecordOfWhatWasOverdue) {
    At(0s, Put({.every = 10s}));
    Down(35s);
    tick_between = false;
    At(35s, Put({.every = 1h}));
    tick_between = true;

    ASSERT_THAT(RunsOf("report"), SizeIs(1));
    EXPECT_EQ(RunsOf("report")[0]->outcome->reason, Reason::kMissed);
    EXPECT_EQ(TaskOf("report").state.missed, 3u);
    EXPECT_EQ(TaskOf("report").state.next_at, kBegin + 1h);
}

// The next fire is in five seconds; somebody ends the task right after it.
TEST_F(RecurringTest, AnEndAfterTheNextFireIsTakenHoweverSoon) {
    At(0s, Put({.every = 20s, .options = Parallel()}));
    At(15s, Put({.every = 20s, .end_at = 24s, .options = Parallel()}));
    EXPECT_TRUE(task_replies.contains(2));
    Until(1min);

    EXPECT_THAT(Due(), ElementsAre(20'000));
}

// A campaign is over. Its task can still be given another name or priority.
TEST_F(RecurringTest, ATaskThatHasEndedCanBeChanged) {
    At(0s, Put({.every = 10s, .end_at = 25s, .options = Parallel()}));
    At(1min, Put({.every = 10s, .end_at = 25s, .payload = "new", .options = Parallel()}));
    EXPECT_TRUE(LastReply());
    EXPECT_EQ(TaskOf("report").task->payload, "new");
    At(1min, Put({.every = 10s, .end_at = 30s, .options = Parallel()}));

    ASSERT_FALSE(LastReply()) << "other times must have a fire left";
    EXPECT_EQ(LastReply().error().field, "end_at");
}

TEST_F(RecurringTest, AFixedDelayThatIsLongerThanItsTimeFiresOnce) {
    At(0s, Join({.id = "a"}));
    At(0s, Put({.after_end = 1h, .end_at = 50min}));
    FinishAll(1min);
    Until(3h);

    EXPECT_THAT(Due(), ElementsAre(0));
}

TEST_F(RecurringTest, CreatingATaskTwiceIsOneTaskUnlessItAsksForSomethingElse) {
    At(0s, Put({.every = 10s, .create_only = true}));
    At(1s, Put({.every = 10s, .create_only = true}));
    EXPECT_TRUE(LastReply());
    EXPECT_EQ(TaskOf("report").task->version, 1u);
    At(2s, Put({.every = 20s, .create_only = true}));

    ASSERT_FALSE(LastReply());
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
    EXPECT_EQ(TaskOf("report").task->opt().recurrence->every, 10s);
}

// Two people edit one task; the second has not seen the change of the first.
TEST_F(RecurringTest, AChangeOfAVersionThatIsNoMoreIsRefused) {
    At(0s, Put({.every = 10s}));
    At(1s, Put({.every = 20s, .if_version = 1}));
    EXPECT_TRUE(LastReply());
    At(2s, Put({.every = 30s, .if_version = 1}));
    ASSERT_FALSE(LastReply());
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
    At(3s, Put({.id = "other", .every = 30s, .if_version = 1}));
    ASSERT_FALSE(LastReply());
    EXPECT_EQ(LastReply().error().code, ErrorCode::kNotFound);
    DeleteTask old = Drop("report");
    old.if_version = 1;
    At(4s, old);
    ASSERT_FALSE(LastReply());

    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
    EXPECT_EQ(TaskOf("report").task->opt().recurrence->every, 20s);
}

TEST_F(RecurringTest, ATaskWithoutAnIdIsGivenOne) {
    At(0s, Put({.id = "", .every = 1h}));
    EXPECT_THAT(store.tasks, SizeIs(1));
    EXPECT_FALSE(store.tasks.begin()->first.empty());
}

TEST_F(RecurringTest, WhatIsNotThereCannotBeDeletedPausedOrTriggered) {
    At(0s, Drop("none"));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kNotFound);
    At(0s, Pause("none"));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kNotFound);
    At(0s, TriggerOf("none"));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kNotFound);
}

TEST_F(RecurringTest, DeletingATaskWithForcedRunsAtTheirLimitLeavesTheLineAsItIs) {
    const OnceSpec other{.id = "x", .concurrency_key = "db", .concurrency_max = 1};
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 1h, .options = {.concurrency_key = "db", .concurrency_max = 1}}));
    At(1s, TriggerOf("report", "", true));
    At(2s, TriggerOf("report", "", true));
    At(3s, Once(other));
    At(4s, TriggerOf("report", "", true));
    EXPECT_EQ(CodeOf(RunOf("report", 2)), "concurrency_limit");
    DeleteTask drop = Drop("report");
    drop.runs = RunsOfDeleted::kKeep;
    At(5s, drop);
    for (const std::string& id :
         {RunOf("report", 0), RunOf("report", 1), std::string("x"), RunOf("report", 2)}) {
        EXPECT_EQ(StatusOf(id), Status::kScheduled);
        At(6s, Success(id));
    }

    EXPECT_EQ(engine().live_count(), 0u);
}

// A program that renews its tasks by deleting and making them, and waits for no answer.
TEST_F(RecurringTest, ATaskThatIsDeletedAndMadeAtOnceIsANewOne) {
    At(0s, Put({.every = 1s, .options = Parallel()}));
    Gather();
    At(500ms, Drop("report"));
    At(500ms, Put({.every = 2s, .options = Parallel()}));
    Commit();
    Restart(500ms);
    Until(5s);

    EXPECT_EQ(TaskOf("report").task->version, 1u);
    EXPECT_THAT(Due(), ElementsAre(2'500, 4'500));
}

TEST_F(RecurringTest, ARunKeepsTheTaskItWasMadeOfWhenThatIsMadeAgain) {
    At(0s, Put({.every = 1h, .payload = "old"}));
    At(1s, TriggerOf("report"));
    DeleteTask drop = Drop("report");
    drop.runs = RunsOfDeleted::kKeep;
    At(2s, drop);
    At(3s, Put({.every = 1h, .payload = "new"}));
    Restart(4s);
    At(5s, Join({.id = "a"}));

    ASSERT_THAT(assigns, SizeIs(1));
    EXPECT_EQ(assigns[0].execution.input(), "old");
}

// --- Pausing ------------------------------------------------------------------------------------

TEST_F(RecurringTest, APausedTaskDoesNotFireAndDoesNotCatchUp) {
    At(0s, Put({.every = 1s, .options = Parallel()}));
    At(1500ms, Pause("report"));
    EXPECT_TRUE(TaskOf("report").state.paused);
    EXPECT_EQ(TaskOf("report").state.paused_at, kBegin + 1500ms);
    Restart(5s);
    EXPECT_EQ(engine().NextDeadline({WallAt(5s), Steady(7h + 5s)}), config.cleanup_interval);
    At(10500ms, Resume("report"));
    Until(12s);

    EXPECT_THAT(DueOf("report", Status::kPending), ElementsAre(1'000, 11'000, 12'000));
}

// A month later somebody asks what became of the fires of that night.
TEST_F(RecurringTest, WhatBecameDueInAPauseIsOnRecord) {
    At(0s, Put({.every = 1s, .options = Parallel()}));
    At(1500ms, Pause("report"));
    At(31500ms, Resume("report"));

    ASSERT_THAT(Due(), ElementsAre(1'000, 2'000));
    EXPECT_EQ(RunsOf("report")[1]->status, Status::kSkipped);
    const Outcome& outcome = *RunsOf("report")[1]->outcome;
    EXPECT_EQ(outcome.reason, Reason::kPaused);
    EXPECT_EQ(outcome.message,
              "30 due times up to 2026-01-01T00:00:31.000Z passed while the task was paused");
    EXPECT_EQ(TaskOf("report").state.missed, 30u);
    EXPECT_EQ(engine().counters().missed, 0u) << "nothing went wrong";
}

TEST_F(RecurringTest, WhatBecameDueInAPauseIsOnRecordAlsoIfTheTimesAreChangedInIt) {
    At(0s, Put({.every = 1s, .options = {.catch_up_after_pause = true}}));
    At(500ms, Pause("report"));
    At(4500ms, Put({.every = 10s, .options = {.catch_up_after_pause = true}}));

    EXPECT_EQ(TaskOf("report").state.missed, 4u);
    EXPECT_THAT(DueOf("report", Status::kSkipped), ElementsAre(1'000));
    EXPECT_TRUE(TaskOf("report").state.paused);
}

// Between its runs a fixed delay has no times that could be missed.
TEST_F(RecurringTest, AFixedDelayBeginsAnewWhenItIsResumed) {
    At(0s, Join({.id = "a"}));
    At(0s, Put({.after_end = 10s}));
    FinishAll(1s);
    At(5s, Pause("report"));
    At(1min, Resume("report"));
    Until(70s);

    EXPECT_THAT(Due(), ElementsAre(0, 70'000));
    EXPECT_EQ(TaskOf("report").state.missed, 0u);
}

TEST_F(RecurringTest, APausedTaskCatchesUpIfItAsksForIt) {
    At(0s, Put({.every = 1s,
                .options = {.mode = Mode::kParallel,
                            .misfire = Misfire::kFireAll,
                            .catch_up_after_pause = true}}));
    At(1500ms, Pause("report"));
    At(4500ms, Resume("report"));
    Until(5s);

    EXPECT_THAT(Due(), ElementsAre(1'000, 2'000, 3'000, 4'000, 5'000));
}

TEST_F(RecurringTest, APausedTaskCanBeTriggered) {
    At(0s, Put({.every = 1s}));
    At(0s, Pause("report"));
    At(5s, TriggerOf("report"));

    EXPECT_THAT(Due(), ElementsAre(5'000));
}

// --- Made paused --------------------------------------------------------------------------------

// A deployment brings its tasks switched off. None may fire between being made and being paused.
TEST_F(RecurringTest, ATaskIsMadePausedInOneChange) {
    PutTask put = Put({.every = 1s, .options = Parallel()});
    put.paused = true;
    At(0s, put);

    EXPECT_EQ(changes_in_last_commit(), 1u);
    EXPECT_TRUE(TaskOf("report").state.paused);
    EXPECT_EQ(TaskOf("report").state.paused_at, kBegin);
    Until(10s);
    // A change that says nothing of it leaves it so.
    At(10s, Put({.every = 2s, .options = Parallel()}));
    Until(20s);
    EXPECT_THAT(DueOf("report", Status::kPending), IsEmpty());
    PutTask resumed = Put({.every = 2s, .options = Parallel()});
    resumed.paused = false;
    At(20s, resumed);
    Until(23s);
    EXPECT_THAT(DueOf("report", Status::kPending), Not(IsEmpty()));
    EXPECT_FALSE(TaskOf("report").state.paused);
}

// The first run of a fixed delay is at once; of one that is made paused, once it is resumed.
TEST_F(RecurringTest, AFixedDelayThatIsMadePausedMissesNothingAndBeginsWhenItIsResumed) {
    PutTask put = Put({.after_end = 1h});
    put.paused = true;
    At(0s, put);
    EXPECT_EQ(TaskOf("report").state.missed, 0u);
    EXPECT_THAT(Due(), IsEmpty());
    At(10min, Resume("report"));

    EXPECT_THAT(Due(), ElementsAre(600'000));
    EXPECT_EQ(TaskOf("report").state.missed, 0u);
}

TEST_F(RecurringTest, ATaskThatBecomesAFixedDelayAndIsPausedMissesNothing) {
    At(0s, Put({.every = 1h}));
    PutTask put = Put({.after_end = 1h});
    put.paused = true;
    At(1s, put);

    EXPECT_EQ(TaskOf("report").state.missed, 0u);
    EXPECT_THAT(Due(), IsEmpty());
}

// A person who reads when a task was last changed wants to know of the pause, too.
TEST_F(RecurringTest, PausingAndResumingMoveTheTimeOfTheLastChange) {
    At(0s, Put({.every = 1h}));
    At(1s, Pause("report"));
    EXPECT_EQ(TaskOf("report").task->updated_at, kBegin + 1s);
    At(2s, Pause("report"));
    EXPECT_EQ(TaskOf("report").task->updated_at, kBegin + 1s);
    At(3s, Resume("report"));
    EXPECT_EQ(TaskOf("report").task->updated_at, kBegin + 3s);
}

}  // namespace
}  // namespace takt::internal
