// Tasks that are deleted while runs of theirs wait or go on.
#include "engine/recurring_fixture.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class DeleteTest : public RecurringTest {
  protected:
    // A sequential task with one run at work and as many waiting as given.
    void Backlog(std::uint32_t waiting) {
        At(0s, Join({.id = "a", .capacity = 1000}));
        At(0s, Put({.every = 1s, .options = {.backlog_max = 1'000}}));
        Until(1s * (waiting + 1));
        ASSERT_EQ(HandOf("a"), 1u);
        ASSERT_EQ(engine().live_count(), waiting + 1);
    }
    DeleteTask Delete(RunsOfDeleted runs = RunsOfDeleted::kCancel) {
        DeleteTask remove = Drop("report");
        remove.runs = runs;
        return remove;
    }
    std::size_t Count(Status status) { return DueOf("report", status).size(); }
};

// A user who deletes a task wants less of it, not its whole backlog at once.
TEST_F(DeleteTest, RunsThatWaitAreCancelledAndTheOneAtWorkFinishes) {
    Backlog(3);
    At(4500ms, Delete());

    EXPECT_EQ(HandOf("a"), 1u);
    EXPECT_EQ(Count(Status::kCancelled), 3u);
    EXPECT_EQ(Row(RunOf("report", 1)).outcome->message.str(), "its task was deleted");
    EXPECT_FALSE(store.tasks.contains(TaskId("report")));
    FinishAll(6s);
    EXPECT_EQ(Count(Status::kSuccess), 1u);
    EXPECT_EQ(engine().live_count(), 0u);
}

TEST_F(DeleteTest, RunsThatAreKeptGoOnOneAfterTheOther) {
    Backlog(3);
    At(4500ms, Delete(RunsOfDeleted::kKeep));
    for (int i = 1; i <= 4; ++i) {
        EXPECT_EQ(HandOf("a"), 1u);
        FinishAll(5s + 1s * i);
    }
    EXPECT_EQ(Count(Status::kSuccess), 4u);
    EXPECT_EQ(engine().live_count(), 0u);
}

// The next leader knows the task only from its runs.
TEST_F(DeleteTest, RunsThatAreKeptStayInOrderUnderANewLeader) {
    Backlog(3);
    At(4500ms, Delete(RunsOfDeleted::kKeep));
    const AttemptRef held = RefOf(RunOf("report", 0));
    Restart(6s);
    At(6s, Join({.id = "a", .capacity = 1000, .holding = {held}}));
    Until(7s);
    EXPECT_EQ(HandOf("a"), 1u);
    FinishAll(8s);
    EXPECT_EQ(HandOf("a"), 1u);
    EXPECT_EQ(Count(Status::kSuccess), 1u);
}

// A run that was cancelled with the task is run again while another one still goes on.
TEST_F(DeleteTest, ARunThatIsRunAgainWaitsForItsTurn) {
    Backlog(1);
    At(2500ms, Delete());
    At(4s, RedriveOf(RunOf("report", 1)));
    EXPECT_EQ(CodeOf(RunOf("report", 1)), "previous_run");
    At(5s, Success(RunOf("report", 0)));
    EXPECT_EQ(StatusOf(RunOf("report", 1)), Status::kScheduled);
}

// An executor's task is deleted and registered again while its last run goes on.
TEST_F(DeleteTest, ATaskThatIsMadeAgainWaitsForTheRunsOfTheOneBefore) {
    Backlog(0);
    At(1500ms, Delete());
    At(3s, Put({.every = 1s}));
    Until(5s);
    EXPECT_EQ(HandOf("a"), 1u);
    At(6s, Success(RunOf("report", 0)));
    EXPECT_EQ(HandOf("a"), 1u);
    EXPECT_EQ(StatusOf(RunOf("report", 1)), Status::kScheduled);
}

// More than one step may end: the answer comes when all are ended, and not before.
TEST_F(DeleteTest, ALongBacklogIsCancelledInStepsAndAnsweredAtTheEnd) {
    Backlog(100);
    tick_between = false;
    At(102s, Delete());
    EXPECT_FALSE(Answered());
    EXPECT_TRUE(store.tasks.contains(TaskId("report")));
    EXPECT_LE(changes_in_last_commit(), 3 * config.changes_per_step);
    tick_between = true;
    Until(102s + 100ms);
    EXPECT_TRUE(Answered());
    EXPECT_EQ(engine().live_count(), 1u);
    EXPECT_FALSE(store.tasks.contains(TaskId("report")));
}

// The leader dies half way: the task is still there, and whoever was not answered asks again.
TEST_F(DeleteTest, ADeletionThatIsInterruptedLeavesTheTask) {
    Backlog(100);
    tick_between = false;
    At(102s, Delete());
    Restart(103s);
    EXPECT_TRUE(store.tasks.contains(TaskId("report")));
    tick_between = true;
    At(103s, Join({.id = "a", .capacity = 1000, .holding = {RefOf(RunOf("report", 0))}}));
    Until(104s);
    EXPECT_EQ(HandOf("a"), 1u);
}

// A run between two attempts has begun: it keeps its turn and its retries.
TEST_F(DeleteTest, ARunThatHasBegunKeepsItsRetries) {
    At(0s, Join({.id = "a"}));
    At(0s, Put({.every = 1h,
                .options = {.retry = RetryPolicy{.retries_max = 1, .delay = 1min, .jitter = 0}}}));
    Until(1h);
    At(1h, Failure(RunOf("report", 0)));
    At(1h + 1s, Delete());
    EXPECT_EQ(StatusOf(RunOf("report", 0)), Status::kRetrying);
    Until(1h + 2min);
    EXPECT_EQ(StatusOf(RunOf("report", 0)), Status::kScheduled);
}

// The last run of a deleted task gets its turn, and can never have its lock: with it the task is
// forgotten, in the midst of giving its turns.
TEST_F(DeleteTest, TheLastRunMayEndInTheMomentOfItsTurn) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, SetLock{.request = NextRequest(), .name = "gpu", .permits = 2});
    At(0s, Put({.every = 1h, .options = {.locks = {{.name = "gpu", .permits = 2}}}}));
    At(1s, TriggerOf("report"));
    At(1s, TriggerOf("report"));
    DeleteTask keep = Drop("report");
    keep.runs = RunsOfDeleted::kKeep;
    At(2s, keep);
    At(3s, SetLock{.request = NextRequest(), .name = "gpu", .permits = 1});
    At(4s, Success(RunOf("report", 0)));

    EXPECT_EQ(StatusOf(RunOf("report", 1)), Status::kFailed);
    EXPECT_EQ(Row(RunOf("report", 1)).outcome->reason, Reason::kLockTooSmall);
}

}  // namespace
}  // namespace takt::internal
