// Unique keys: one of a kind, for as long as it lives or for a window of time.
#include "engine/history.h"
#include "model/workflow_testing.h"

namespace takt::internal {
namespace {

using ::testing::IsEmpty;

class UniqueKeyTest : public History {
  protected:
    void SetUp() override { config.worker_lease = config.timeout = 24h; }
};

TEST_F(UniqueKeyTest, AUniqueKeyIsHeldUntilItsExecutionIsFinished) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x", .unique_key = "invoice 7"}));
    At(1s, Once({.id = "y", .unique_key = "invoice 7"}));
    ASSERT_FALSE(LastReply());
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
    EXPECT_EQ(LastReply().error().field, "unique_key");
    // The same id is the same request, not a second one.
    At(1s, Once({.id = "x", .unique_key = "invoice 7"}));
    EXPECT_TRUE(LastReply());
    Restart(2s);
    At(2s, Once({.id = "y", .unique_key = "invoice 7"}));
    EXPECT_FALSE(LastReply());
    At(3s, CancelOf("x"));
    At(4s, Once({.id = "y", .unique_key = "invoice 7"}));

    EXPECT_TRUE(LastReply());
    EXPECT_THAT(store.settings, IsEmpty());
}

// The caller of a backfill named no unique key.
TEST_F(UniqueKeyTest, ASecondBackfillIsToldOfTheFirst) {
    WorkflowStep step = MakeStep({.name = "backfill", .for_each = "[1]", .named = "report"});
    step.backfill = true;
    const WorkflowPtr workflow = Workflow::Make({step}, {}).value();
    At(0s, Put({.every = 1h}));
    for (const std::string id : {"x", "y"}) {
        Submit submit = Once({.id = id, .type = "", .unique_key = "backfill of report"});
        auto options = std::make_unique<TaskOptions>(submit.task->opt());
        options->workflow = workflow;
        submit.task->options = std::move(options);
        At(1s, submit);
    }

    ASSERT_FALSE(LastReply());
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
    EXPECT_EQ(LastReply().error().detail, "a backfill of this task is under way: x");
}

// One mail an hour, however fast it was sent.
TEST_F(UniqueKeyTest, AWindowKeepsTheKeyBeyondTheEnd) {
    config.cleanup_interval = 1min;
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x", .unique_key = "mail", .unique_for = 1h}));
    At(1s, Success("x"));
    At(2s, Once({.id = "y", .unique_key = "mail", .unique_for = 1h}));
    EXPECT_FALSE(LastReply());
    Restart(30min);
    At(30min, Once({.id = "y", .unique_key = "mail", .unique_for = 1h}));
    EXPECT_FALSE(LastReply());
    Until(61min);
    EXPECT_THAT(store.settings, IsEmpty());
    At(61min, Once({.id = "y", .unique_key = "mail", .unique_for = 1h}));

    EXPECT_TRUE(LastReply());
}

// Its window ends while it still runs: the key is free when it is finished, not before.
TEST_F(UniqueKeyTest, AWindowThatEndsDuringTheRunFreesTheKeyWithIt) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x", .unique_key = "k", .unique_for = 1s}));
    At(10s, Once({.id = "y", .unique_key = "k"}));
    EXPECT_FALSE(LastReply());
    At(11s, Success("x"));
    At(12s, Once({.id = "y", .unique_key = "k"}));

    EXPECT_TRUE(LastReply());
    EXPECT_THAT(store.settings, IsEmpty());
}

// Somebody made a new one instead of the failed one, then somebody else runs the old one again.
TEST_F(UniqueKeyTest, RunningAgainDoesNotTakeAKeyFromAnother) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Once({.id = "x", .unique_key = "k"}));
    At(1s, Failure("x", false));
    At(2s, Once({.id = "y", .unique_key = "k"}));
    At(3s, RedriveOf("x"));
    ASSERT_FALSE(LastReply());
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
    At(4s, Success("y"));
    At(5s, RedriveOf("x"));
    EXPECT_TRUE(LastReply());
    At(6s, Once({.id = "z", .unique_key = "k"}));

    EXPECT_FALSE(LastReply());
}

TEST_F(UniqueKeyTest, RunningAgainWithinTheOwnWindowIsNoSecond) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Once({.id = "x", .unique_key = "k", .unique_for = 1h}));
    At(1s, Failure("x", false));
    At(2s, RedriveOf("x"));

    EXPECT_TRUE(LastReply());
    EXPECT_EQ(StatusOf("x"), Status::kScheduled);
}

TEST_F(UniqueKeyTest, RunsOfARecurringTaskHoldNoKey) {
    At(0s, Put({.every = 1h, .options = {.unique_key = "k"}}));
    At(0s, TriggerOf("report"));
    Restart(1s);
    At(2s, Once({.unique_key = "k"}));

    EXPECT_TRUE(LastReply());
}

// Keys come from users. A scheduler that is never idle must forget them all the same: the windows
// end while other things finish every second.
TEST_F(UniqueKeyTest, UniqueWindowsAreForgottenWhileTheSchedulerIsBusy) {
    At(0s, Join({.id = "a", .capacity = 10}));
    for (int i = 0; i < 200; ++i) {
        const std::string id = "x" + std::to_string(i);
        At(i * 1s, Once({.id = id, .unique_key = id, .unique_for = 10s}));
        At(i * 1s, Success(id));
    }

    EXPECT_LE(store.settings.size(), 12u);
}

}  // namespace
}  // namespace takt::internal
