// How executions come in, wait for their time and for their turn.
#include "engine/history.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class SubmitTest : public History {};

// The plainest case: somebody submits while a worker is idle. Insert and assignment go together.
TEST_F(SubmitTest, AnIdleWorkerGetsASubmitAtOnceInTheSameCommit) {
    At(0s, Join({.id = "a"}));
    At(1s, Once({}));

    ASSERT_TRUE(LastReply());
    ASSERT_EQ(assigns.size(), 1u);
    EXPECT_EQ(assigns[0].session, SessionOf("a"));
    EXPECT_EQ(assigns[0].execution.attempt, 1u);
    EXPECT_EQ(assigns[0].timeout, config.timeout);
    EXPECT_EQ(changes_in_last_commit(), 1u);
    EXPECT_EQ(StatusOf(AssignedIds()[0]), Status::kScheduled);
}

// A batch job submitted at night for the morning.
TEST_F(SubmitTest, ATaskWithATimeDoesNotStartBeforeIt) {
    config.worker_lease = 24h;
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "later", .run_at = 8h}));

    Until(8h - 1ms);
    EXPECT_THAT(assigns, IsEmpty());
    Until(8h);

    EXPECT_THAT(AssignedIds(), ElementsAre("later"));
    EXPECT_EQ(Row("later").scheduled_at, kBegin + 8h);
}

// "Remind the customer in ten minutes."
TEST_F(SubmitTest, ADelayCountsFromAcceptance) {
    config.worker_lease = 1h;
    At(0s, Join({.id = "a"}));
    At(5s, Once({.id = "reminder", .delay = 10min}));

    Until(5s + 10min - 1ms);
    EXPECT_THAT(assigns, IsEmpty());
    Until(5s + 10min);

    EXPECT_THAT(AssignedIds(), ElementsAre("reminder"));
}

// Nobody is there to work yet; what waits goes out by priority, then by age, whatever its type.
TEST_F(SubmitTest, HigherPriorityGoesFirstThenTheOldestAcrossTypesAndLabels) {
    At(0s, Once({.id = "five-old", .type = "x"}));
    At(1s, Once({.id = "zero", .type = "x", .priority = 0}));
    At(2s, Once({.id = "nine", .type = "y", .priority = 9}));
    At(3s, Once({.id = "five-young", .type = "y"}));
    At(4s, Once({.id = "nine-labelled", .type = "x", .priority = 9, .labels = {{"gpu", "yes"}}}));
    At(5s, Once({.id = "five-youngest", .type = "x"}));

    At(6s, Join({.id = "a", .capacity = 10, .labels = {{"gpu", "yes"}}}));

    EXPECT_THAT(AssignedIds(), ElementsAre("nine", "nine-labelled", "five-old", "five-young",
                                           "five-youngest", "zero"));
}

TEST_F(SubmitTest, EveryPriorityFromZeroToNineIsInOrder) {
    for (std::uint8_t priority : {3, 0, 9, 5, 1, 8, 2, 7, 4, 6}) {
        At(0s, Once({.id = "p" + std::to_string(priority), .priority = priority}));
    }
    At(1s, Join({.id = "a", .capacity = 10}));

    EXPECT_THAT(AssignedIds(),
                ElementsAre("p9", "p8", "p7", "p6", "p5", "p4", "p3", "p2", "p1", "p0"));
}

// An urgent task must not overtake the capacity of the only worker, but must be next.
TEST_F(SubmitTest, AnUrgentTaskIsTheNextToStartWhenAWorkerHasRoom) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "first"}));
    At(1s, Once({.id = "second"}));
    At(2s, Once({.id = "urgent", .priority = 9}));

    At(3s, Success("first"));

    EXPECT_THAT(AssignedIds(), ElementsAre("first", "urgent"));
}

// A producer goes wild: memory is finite, and what was accepted must stay safe.
TEST_F(SubmitTest, ASubmitToAFullQueueIsRefusedAndOtherQueuesGoOn) {
    config.pending_max = 2;
    At(0s, Once({.id = "one", .queue = "full"}));
    At(0s, Once({.id = "two", .queue = "full", .delay = 1h}));
    At(1s, Once({.id = "three", .queue = "full"}));
    ASSERT_FALSE(LastReply());
    EXPECT_EQ(LastReply().error().code, ErrorCode::kExhausted);
    EXPECT_EQ(LastReply().error().field, "queue");
    At(1s, Once({.id = "other", .queue = "free"}));
    EXPECT_TRUE(LastReply());

    At(2s, CancelOf("one"));
    At(3s, Once({.id = "three", .queue = "full"}));

    EXPECT_TRUE(LastReply());
    EXPECT_EQ(store.executions.size(), 4u);
}

// A worker with room takes from the queue, so the queue has room again.
TEST_F(SubmitTest, WhatAWorkerTookDoesNotCountAsWaiting) {
    config.pending_max = 1;
    At(0s, Join({.id = "a", .capacity = 3}));
    for (int i = 0; i < 3; ++i) {
        At(1s, Once({}));
        EXPECT_TRUE(LastReply());
    }
    At(2s, Once({}));
    EXPECT_TRUE(LastReply());
    At(2s, Once({}));
    EXPECT_FALSE(LastReply());
}

// --- Expiry ---

// A price quote that nobody wants after a minute.
TEST_F(SubmitTest, WhatDoesNotStartInTimeExpires) {
    At(0s, Once({.id = "quote", .expires_after = 1min}));

    Until(1min);
    At(61s, Join({.id = "a"}));

    EXPECT_EQ(StatusOf("quote"), Status::kFailed);
    EXPECT_EQ(Row("quote").outcome->reason, Reason::kExpired);
    EXPECT_THAT(assigns, IsEmpty());
}

// The process stood still for an hour, and the first it hears is a worker that wants work.
TEST_F(SubmitTest, WhatExpiredWhileNobodyLookedIsNotStarted) {
    At(0s, Once({.id = "quote", .expires_after = 1min}));
    tick_between = false;
    At(1h, Join({.id = "a"}));

    EXPECT_EQ(StatusOf("quote"), Status::kFailed);
    EXPECT_EQ(Row("quote").outcome->reason, Reason::kExpired);
    EXPECT_THAT(assigns, IsEmpty());
}

TEST_F(SubmitTest, WhatStartsInTimeDoesNotExpireWhileItRuns) {
    config.worker_lease = 1h;
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "quote", .expires_after = 1min}));
    At(2min, Success("quote"));

    EXPECT_EQ(StatusOf("quote"), Status::kSuccess);
}

// A client's clock is wrong, or a queue in front of us was slow: the time is over on arrival.
TEST_F(SubmitTest, WhatArrivesAfterItsExpiryFailsAtOnceAndIsAnswered) {
    At(0s, Join({.id = "a"}));
    At(2h, Once({.id = "late", .run_at = 1h, .expires_after = 1min}));

    ASSERT_TRUE(LastReply());
    EXPECT_EQ(LastReply()->status, Status::kFailed);
    EXPECT_EQ(StatusOf("late"), Status::kFailed);
    EXPECT_EQ(Row("late").outcome->reason, Reason::kExpired);
    EXPECT_THAT(assigns, IsEmpty());
}

// An operator runs again what expired: it has its whole time anew.
TEST_F(SubmitTest, WhatExpiredCanBeRunAgain) {
    At(0s, Once({.id = "quote", .expires_after = 1min}));
    At(10min, RedriveOf("quote"));
    ASSERT_TRUE(LastReply());
    At(10min + 30s, Join({.id = "a"}));

    EXPECT_THAT(AssignedIds(), ElementsAre("quote"));
}

// --- Who may run it ---

TEST_F(SubmitTest, OnlyWorkersOfTheTypeQueueLabelsAndExecutorGetIt) {
    At(0s, Join({.id = "types", .capacity = 9, .types = {"mail"}}));
    At(0s, Join({.id = "queues", .capacity = 9, .queues = {"night"}, .group = "g"}));
    At(0s, Join({.id = "labels",
                 .capacity = 9,
                 .types = {"label"},
                 .queues = {"default"},
                 .labels = {{"disk", "ssd"}, {"zone", "b"}}}));

    At(1s, Once({.id = "mail", .type = "mail"}));
    At(1s, Once({.id = "night", .queue = "night"}));
    At(1s, Once({.id = "zone", .type = "label", .labels = {{"zone", "b"}}}));
    At(1s, Once({.id = "named", .queue = "night", .target = "queues"}));
    At(1s, Once({.id = "group", .queue = "night", .target = "g"}));
    At(1s, Once({.id = "nobody", .type = "label", .labels = {{"zone", "c"}}}));
    At(1s, Once({.id = "wrong-group", .queue = "night", .target = "h"}));

    EXPECT_THAT(AssignedIds(), ElementsAre("mail", "night", "zone", "named", "group"));
    EXPECT_THAT(AssignedWorkers(), ElementsAre("types", "queues", "labels", "queues", "queues"));
    EXPECT_EQ(StatusOf("nobody"), Status::kPending);
    EXPECT_EQ(StatusOf("wrong-group"), Status::kPending);
}

// A deployment teaches a worker a new type: what waited for it must not wait for ever.
TEST_F(SubmitTest, AWorkerThatComesBackWithMoreTypesGetsWhatWaited) {
    At(0s, Join({.id = "a", .types = {"old"}}));
    At(1s, Once({.id = "new", .type = "new"}));
    EXPECT_THAT(assigns, IsEmpty());
    At(2s, Join({.id = "a", .instance = "2", .types = {"new", "old"}}));

    EXPECT_THAT(AssignedIds(), ElementsAre("new"));
}

// --- How a worker is chosen ---

TEST_F(SubmitTest, LeastTasksGivesToTheOneWithTheLeastInHand) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Join({.id = "b", .capacity = 10}));
    At(0s, Join({.id = "c", .capacity = 10}));
    for (int i = 0; i < 9; ++i) At(1s, Once({.id = "t" + std::to_string(i)}));
    EXPECT_EQ(HandOf("a"), 3u);
    EXPECT_EQ(HandOf("b"), 3u);
    EXPECT_EQ(HandOf("c"), 3u);

    At(2s, Success("t1"));
    At(2s, Success("t4"));
    assigns.clear();
    At(3s, Once({}));
    At(3s, Once({}));

    EXPECT_THAT(AssignedWorkers(), ElementsAre("b", "b"));
}

TEST_F(SubmitTest, RoundRobinTakesTurnsWhateverTheyHaveInHand) {
    config.strategy = Strategy::kRoundRobin;
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Join({.id = "b", .capacity = 10}));
    At(0s, Join({.id = "c", .capacity = 1}));
    for (int i = 0; i < 7; ++i) At(1s, Once({}));

    EXPECT_THAT(AssignedWorkers(), ElementsAre("a", "b", "c", "a", "b", "a", "b"));
}

// One tenant wants its own way of spreading.
TEST_F(SubmitTest, ATasksOwnStrategyWins) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Join({.id = "b", .capacity = 10}));
    At(1s, Once({.id = "x"}));
    At(1s, Once({.id = "y"}));
    At(2s, Success("x"));
    assigns.clear();
    for (int i = 0; i < 4; ++i) At(3s, Once({.strategy = Strategy::kRoundRobin}));

    EXPECT_THAT(AssignedWorkers(), UnorderedElementsAre("a", "a", "b", "b"));
}

// The operator switched the strategy, then the leader died.
TEST_F(SubmitTest, TheStrategyIsRememberedByTheNextLeader) {
    At(0s, SetStrategy{.strategy = Strategy::kRoundRobin});
    At(0s, SetStrategy{.strategy = Strategy::kLeastTasks});
    At(0s, SetStrategy{.strategy = Strategy::kRoundRobin});
    Restart(1s);

    EXPECT_EQ(engine().strategy(), Strategy::kRoundRobin);
}

}  // namespace
}  // namespace takt::internal
