// Ids that callers choose, and questions about executions that the engine does not hold.
#include "engine/history.h"

namespace takt::internal {
namespace {

using ::testing::IsEmpty;

class QuestionTest : public History {
  protected:
    LookupDone NothingUnder(const std::string& id) {
        return {{ExecutionId(Text(id))}, {std::nullopt}};
    }
};

// The answer to a submit was lost; the client sends it again.
TEST_F(QuestionTest, TheSameIdWithTheSameBodyIsTheSameExecution) {
    At(0s, Once({.id = "order-1", .payload = "{}"}));
    const Serial first = LastReply()->serial;
    At(1s, Once({.id = "order-1", .payload = "{}"}));

    ASSERT_TRUE(LastReply());
    EXPECT_EQ(LastReply()->serial, first);
    EXPECT_EQ(store.executions.size(), 1u);
}

TEST_F(QuestionTest, TheSameIdWithAnotherBodyIsAConflict) {
    At(0s, Once({.id = "order-1", .payload = "{}"}));
    At(1s, Once({.id = "order-1", .payload = "[]"}));

    ASSERT_FALSE(LastReply());
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
    EXPECT_EQ(LastReply().error().field, "id");
}

// Two clients, or one that is impatient, ask before the store has answered.
TEST_F(QuestionTest, TwoSubmitsOfOneIdWhileTheStoreIsAskedMakeOneExecution) {
    answer_lookups = false;
    At(0s, Once({.id = "x"}));
    At(0s, Once({.id = "x"}));
    At(0s, Once({.id = "x", .payload = "other"}));
    EXPECT_EQ(lookups.size(), 1u) << "one question to the store is enough";
    EXPECT_THAT(replies, IsEmpty());
    At(1s, NothingUnder("x"));

    ASSERT_EQ(replies.size(), 3u);
    EXPECT_TRUE(replies.at(1));
    EXPECT_EQ(replies.at(2)->serial, replies.at(1)->serial);
    EXPECT_EQ(replies.at(3).error().code, ErrorCode::kConflict);
    EXPECT_EQ(store.executions.size(), 1u);
}

// --- One id, one task ---------------------------------------------------------------------------

TEST_F(QuestionTest, TheIdOfARecurringTaskIsRefusedToAOneOff) {
    At(0s, Put({.id = "backup", .every = 1h}));
    At(1s, Once({.id = "backup"}));

    ASSERT_FALSE(LastReply());
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
    EXPECT_EQ(LastReply().error().field, "id");
    EXPECT_THAT(store.executions, IsEmpty());
}

TEST_F(QuestionTest, TheIdOfAOneOffIsRefusedToARecurringTaskAlsoOnceItIsFinished) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "backup"}));
    At(1s, Put({.id = "backup", .every = 1h}));
    ASSERT_FALSE(LastReply());
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
    EXPECT_EQ(LastReply().error().field, "id");
    At(2s, Success("backup"));
    At(3s, Put({.id = "backup", .every = 1h}));
    ASSERT_FALSE(LastReply());
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);

    EXPECT_THAT(store.tasks, IsEmpty());
}

// An operator makes a task in the moment between an executor's look and its registration.
TEST_F(QuestionTest, AnExecutorDoesNotTakeATaskThatIsNotItsOwn) {
    const auto brought = [&](Duration every, const char* executor) {
        PutTask put = Put({.id = "backup", .every = every, .options = {.target = Text(executor)}});
        put.if_own = true;
        return put;
    };
    At(0s, brought(1h, "reports"));
    At(1s, brought(2h, "reports"));
    EXPECT_TRUE(LastReply());
    At(2s, brought(3h, "other"));

    ASSERT_FALSE(LastReply());
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
    EXPECT_EQ(TaskOf("backup").task->opt().recurrence->every, 2h);
}

// Two deployments start at the same time and disagree about what "backup" is.
TEST_F(QuestionTest, OfAOneOffAndARecurringTaskAtOnceTheFirstGetsTheId) {
    answer_lookups = false;
    At(0s, Put({.id = "backup", .every = 1h}));
    At(0s, Once({.id = "backup"}));
    At(0s, Once({.id = "cleanup"}));
    At(0s, Put({.id = "cleanup", .every = 1h}));
    EXPECT_THAT(replies, IsEmpty());
    At(1s, NothingUnder("backup"));
    At(1s, NothingUnder("cleanup"));
    // The first of them changed what is under the id: the other asks the store anew.
    At(2s, NothingUnder("backup"));

    ASSERT_EQ(replies.size(), 4u);
    EXPECT_TRUE(replies.at(1));
    EXPECT_EQ(replies.at(2).error().code, ErrorCode::kConflict);
    EXPECT_TRUE(replies.at(3));
    EXPECT_EQ(replies.at(4).error().code, ErrorCode::kConflict);
    EXPECT_EQ(store.tasks.size(), 1u);
    EXPECT_EQ(store.executions.size(), 1u);
}

// A run has an id of its own, which names no task.
TEST_F(QuestionTest, TheIdOfARunIsFreeForATask) {
    At(0s, Join({.id = "a"}));
    At(0s, Put({.every = 1h}));
    At(0s, TriggerOf("report"));
    const std::string run = RunOf("report", 0);
    At(1s, Success(run));
    At(2s, Put({.id = run, .every = 1h}));

    EXPECT_TRUE(LastReply());
}

// --- What the store knows -----------------------------------------------------------------------

TEST_F(QuestionTest, AFinishedIdIsFoundInTheStore) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x"}));
    At(1s, Success("x"));
    At(2s, Once({.id = "x"}));

    ASSERT_TRUE(LastReply());
    EXPECT_EQ(LastReply()->status, Status::kSuccess);
    EXPECT_EQ(assigns.size(), 1u);
    At(3s, Once({.id = "x", .priority = 9}));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
}

TEST_F(QuestionTest, CancellingTheUnknownIsNotFoundAndTheFinishedAConflict) {
    At(0s, CancelOf("x"));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kNotFound);
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x"}));
    At(1s, Success("x"));
    At(2s, CancelOf("x"));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
    EXPECT_EQ(StatusOf("x"), Status::kSuccess);
}

// The client regrets at once: both its questions wait for the store.
TEST_F(QuestionTest, ACancelThatWaitsBehindItsSubmitCancels) {
    answer_lookups = false;
    At(0s, Once({.id = "x"}));
    At(0s, CancelOf("x"));
    At(1s, NothingUnder("x"));

    ASSERT_TRUE(LastReply());
    EXPECT_EQ(LastReply()->status, Status::kCancelled);
    EXPECT_EQ(StatusOf("x"), Status::kCancelled);
}

// And then changes its mind again: the store's answer is from before all this.
TEST_F(QuestionTest, WhatIsAskedAfterAnEndWithinTheSameAnswerAsksTheStoreAgain) {
    answer_lookups = false;
    At(0s, Once({.id = "x"}));
    At(0s, CancelOf("x"));
    At(0s, Once({.id = "x"}));
    answer_lookups = true;
    At(1s, NothingUnder("x"));

    ASSERT_TRUE(LastReply());
    EXPECT_EQ(LastReply()->status, Status::kCancelled);
    EXPECT_EQ(store.executions.size(), 1u);
}

TEST_F(QuestionTest, RedrivingRunsAFailedExecutionAgainWithFreshCounts) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x", .retry = RetryPolicy{.retries_max = 0}}));
    At(1s, Failure("x"));
    ASSERT_EQ(StatusOf("x"), Status::kFailed);
    At(2s, RedriveOf("x"));

    ASSERT_TRUE(LastReply());
    EXPECT_EQ(StatusOf("x"), Status::kScheduled);
    EXPECT_EQ(Row("x").failures, 0u);
    EXPECT_EQ(Row("x").attempt, 2u) << "attempts go on rising, so that old reports stay stale";
    At(3s, Success("x"));
    EXPECT_EQ(StatusOf("x"), Status::kSuccess);
}

TEST_F(QuestionTest, RedrivingTheUnknownTheLiveAndTheSuccessfulIsRefused) {
    At(0s, RedriveOf("x"));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kNotFound);
    At(0s, Once({.id = "x"}));
    At(0s, RedriveOf("x"));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
    At(1s, Join({.id = "a"}));
    At(1s, Success("x"));
    At(2s, RedriveOf("x"));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
}

// Its row is about to be purged, or the purge is on its way: the store would not find it.
TEST_F(QuestionTest, WhatIsAboutToBePurgedIsNotRunAgain) {
    config.retention = 10min;
    At(0s, Join({.id = "a", .capacity = 2}));
    for (const char* id : {"x", "y"}) {
        At(1s, Once({.id = id, .retry = RetryPolicy{.retries_max = 0}}));
        At(1s, Failure(id));
    }
    At(9min, RedriveOf("x"));
    EXPECT_TRUE(LastReply());
    At(9min + 2s, RedriveOf("y"));

    ASSERT_FALSE(LastReply());
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
    EXPECT_EQ(StatusOf("y"), Status::kFailed);
}

// --- Ids of the form that the engine gives ------------------------------------------------------

// Somebody counts a generated id up, or guesses.
TEST_F(QuestionTest, AnIdThatTheEngineMayGiveSoonIsRefused) {
    const std::string soon = SerialText(SerialAt(kBegin + 1h));
    At(0s, Once({.id = soon}));
    ASSERT_FALSE(LastReply());
    EXPECT_EQ(LastReply().error().code, ErrorCode::kInvalid);
    EXPECT_EQ(LastReply().error().field, "id");
    At(0s, Put({.id = soon, .every = 1h}));
    ASSERT_FALSE(LastReply());
    EXPECT_EQ(LastReply().error().code, ErrorCode::kInvalid);
    EXPECT_THAT(store.executions, IsEmpty());
    EXPECT_THAT(store.tasks, IsEmpty());
}

// A Unix time in milliseconds looks like an id of ten years from now; one of ours may be asked for
// again.
TEST_F(QuestionTest, IdsThatOnlyLookAlikeAreTaken) {
    At(0s, Once({.id = "1767225600000"}));
    EXPECT_TRUE(LastReply());
    At(1s, Once({.payload = "p"}));
    const std::string own = LastReply()->id.text().str();
    At(2s, Once({.id = own, .payload = "p"}));
    ASSERT_TRUE(LastReply());
    EXPECT_EQ(LastReply()->id.text().str(), own);
}

// It was chosen before such ids were refused, and still waits when its time comes.
TEST_F(QuestionTest, AGeneratedIdIsNeverThatOfALiveExecution) {
    At(0s, Once({.id = "x", .delay = 1h}));
    const std::string next = SerialText(SerialAt(kBegin + 10s));
    Execution other = Row("x");
    auto task = NewTaskPtr(new Task(*other.task));
    task->id = TaskId(Text(next));
    other.task = task;
    other.id = ExecutionId(Text(next));
    ++other.serial;
    store.executions[other.id] = {Place::kLive, other};
    Restart(5s);
    At(10s, Once({}));

    ASSERT_TRUE(LastReply());
    EXPECT_NE(LastReply()->id.text().str(), next);
    EXPECT_EQ(engine().live_count(), 3u);
}

// A cancelled attempt still runs somewhere when the operator runs the execution again.
TEST_F(QuestionTest, AReportFromBeforeARedriveIsStale) {
    At(0s, Join({.id = "a", .capacity = 2}));
    At(0s, Once({.id = "x"}));
    const Report old = Success("x");
    At(1s, CancelOf("x"));
    At(2s, RedriveOf("x"));
    At(3s, old);

    EXPECT_FALSE(verdicts.at(0).accepted);
    EXPECT_EQ(StatusOf("x"), Status::kScheduled);
}

}  // namespace
}  // namespace takt::internal
