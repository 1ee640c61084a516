// Limits of tasks and keys: how many at once, how many in a time.
#include "engine/history.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class LimitsTest : public History {
  protected:
    void SetUp() override { config.worker_lease = config.timeout = 24h; }
    static OnceSpec Keyed(std::string id, std::uint32_t max = 1) {
        return {.id = std::move(id), .concurrency_key = "db", .concurrency_max = max};
    }
};

// --- Concurrency --------------------------------------------------------------------------------

// A licence for one export at a time.
TEST_F(LimitsTest, AConcurrencyLimitHoldsTheRestBackInOrder) {
    At(0s, Join({.id = "a", .capacity = 10}));
    for (const std::string id : {"x", "y", "z"}) {
        At(0s, Once({.id = id, .name = "export", .concurrency_max = 1}));
    }
    At(0s, Once({.id = "other", .name = "import", .concurrency_max = 1}));
    EXPECT_THAT(AssignedIds(), ElementsAre("x", "other"));
    EXPECT_EQ(CodeOf("y"), "concurrency_limit");
    At(1s, Success("x"));
    EXPECT_THAT(AssignedIds(), ElementsAre("x", "other", "y"));
    At(2s, Success("y"));

    EXPECT_THAT(AssignedIds(), ElementsAre("x", "other", "y", "z"));
}

// Two kinds of tasks share one fragile database.
TEST_F(LimitsTest, AKeyIsSharedByWhoeverNamesIt) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 1h, .options = {.concurrency_key = "db", .concurrency_max = 1}}));
    At(0s, TriggerOf("report"));
    At(1s, Once(Keyed("x")));
    EXPECT_EQ(CodeOf("x"), "concurrency_limit");
    At(2s, Success(RunOf("report", 0)));

    EXPECT_EQ(StatusOf("x"), Status::kScheduled);
}

TEST_F(LimitsTest, ARetryGivesItsRoomBackMeanwhile) {
    At(0s, Join({.id = "a", .capacity = 10}));
    OnceSpec first = Keyed("x");
    first.retry = RetryPolicy{.delay = 10s, .jitter = 0};
    At(0s, Once(first));
    At(0s, Once(Keyed("y")));
    At(1s, Failure("x"));
    EXPECT_EQ(StatusOf("y"), Status::kScheduled);
    Until(12s);
    EXPECT_EQ(CodeOf("x"), "concurrency_limit");
    At(13s, Success("y"));

    EXPECT_EQ(StatusOf("x"), Status::kScheduled);
}

TEST_F(LimitsTest, ARaisedLimitCountsAtOnceForThoseWhoWait) {
    At(0s, Join({.id = "a", .capacity = 10}));
    for (const std::string id : {"x", "y", "z"}) At(0s, Once(Keyed(id)));
    EXPECT_EQ(HandOf("a"), 1u);
    At(1s, Once(Keyed("w", 3)));
    EXPECT_THAT(AssignedIds(), ElementsAre("x", "y", "z"));
    // The executions that said something else before do not bring it back when they leave.
    At(2s, Success("x"));
    At(2s, Success("y"));
    At(2s, Once(Keyed("v", 3)));

    EXPECT_EQ(HandOf("a"), 3u);
}

TEST_F(LimitsTest, AChangedTaskRaisesTheLimitOfItsRuns) {
    At(0s, Join({.id = "a", .capacity = 10}));
    TaskOptions options{.concurrency_max = 1, .mode = Mode::kParallel};
    At(0s, Put({.every = 1h, .options = options}));
    for (int i = 0; i < 3; ++i) At(1s, TriggerOf("report"));
    EXPECT_EQ(HandOf("a"), 1u);
    options.concurrency_max = 2;
    At(2s, Put({.every = 1h, .options = options}));

    EXPECT_EQ(HandOf("a"), 2u);
    At(3s, Success(RunOf("report", 0)));
    EXPECT_EQ(HandOf("a"), 2u);
}

// The limit was a mistake: whoever takes it away wants what waits to run.
TEST_F(LimitsTest, ALimitTakenAwayLetsThoseThroughWhoWait) {
    At(0s, Join({.id = "a", .capacity = 10}));
    TaskOptions options{.concurrency_max = 1, .mode = Mode::kParallel};
    At(0s, Put({.every = 1h, .options = options}));
    for (int i = 0; i < 3; ++i) At(1s, TriggerOf("report"));
    EXPECT_EQ(HandOf("a"), 1u);
    options.concurrency_max = 0;
    At(2s, Put({.every = 1h, .options = options}));
    EXPECT_EQ(HandOf("a"), 3u);
    FinishAll(3s);

    EXPECT_EQ(engine().limit_count(), 0u);
}

// The same for the runs that a new leader finds: they were made when there was a limit.
TEST_F(LimitsTest, ALimitTakenAwayIsGoneForTheNextLeaderToo) {
    TaskOptions options{.concurrency_max = 1, .mode = Mode::kParallel};
    At(0s, Put({.every = 1h, .options = options}));
    for (int i = 0; i < 3; ++i) At(1s, TriggerOf("report"));
    options.concurrency_max = 0;
    At(2s, Put({.every = 1h, .options = options}));
    Restart(3s);
    At(4s, Join({.id = "a", .capacity = 10}));

    EXPECT_EQ(HandOf("a"), 3u);
}

// One of two tasks that share a database needs it no more. The other one's limit stays.
TEST_F(LimitsTest, WhoeverLeavesAKeyDoesNotOpenItForOthers) {
    At(0s, Join({.id = "a", .capacity = 10}));
    TaskOptions options{.concurrency_key = "db", .concurrency_max = 1, .mode = Mode::kParallel};
    At(0s, Put({.every = 1h, .options = options}));
    At(0s, Once(Keyed("x")));
    At(0s, Once(Keyed("y")));
    options.concurrency_max = 0;
    At(1s, Put({.every = 1h, .options = options}));
    EXPECT_EQ(CodeOf("y"), "concurrency_limit");
    options.concurrency_key = Text();
    At(2s, Put({.every = 1h, .options = options}));

    EXPECT_EQ(CodeOf("y"), "concurrency_limit");
}

// Somebody calls a key as the engine might call one of its own.
TEST_F(LimitsTest, AKeyNeverMeetsTheLimitOfAName) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 1h, .options = {.concurrency_max = 1}}));
    At(0s, TriggerOf("report"));
    At(0s, Once({.id = "x", .name = "export", .concurrency_max = 1}));
    At(0s, Once({.id = "y", .concurrency_key = "name/export", .concurrency_max = 1}));
    At(0s, Once({.id = "z", .concurrency_key = "task/report", .concurrency_max = 1}));

    EXPECT_EQ(HandOf("a"), 4u);
}

// Every end of an execution in front of the gate or behind it leaves the gate right.
TEST_F(LimitsTest, WhatEndsAtTheGateLeavesItRight) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Once(Keyed("x")));
    OnceSpec expiring = Keyed("y");
    expiring.expires_after = 5s;
    At(0s, Once(expiring));
    At(0s, Once(Keyed("z")));
    At(0s, Once(Keyed("w")));
    Until(6s);
    EXPECT_EQ(Row("y").outcome->reason, Reason::kExpired);
    At(7s, CancelOf("z"));
    EXPECT_EQ(StatusOf("z"), Status::kCancelled);
    At(8s, CancelOf("x"));
    At(9s, ReportOf(RefOf("x"), "a", false));

    EXPECT_EQ(StatusOf("w"), Status::kScheduled);
}

TEST_F(LimitsTest, ARestartKeepsRoomTakenAndOrder) {
    At(0s, Join({.id = "a", .capacity = 10}));
    for (const std::string id : {"x", "y", "z"}) At(0s, Once(Keyed(id)));
    Restart(1s);
    At(1s, Join({.id = "a", .capacity = 10, .holding = {RefOf("x")}}));
    EXPECT_EQ(HandOf("a"), 1u);
    EXPECT_EQ(CodeOf("y"), "concurrency_limit");
    At(2s, Success("x"));

    EXPECT_THAT(AssignedIds(), ElementsAre("x", "y"));
}

// --- Limits count starts ------------------------------------------------------------------------

// A partner allows one call a second. For a minute nobody could make one.
TEST_F(LimitsTest, ARateHoldsWhenNoWorkerWasThere) {
    for (int i = 0; i < 100; ++i) At(0s, Once({.rate = {1, 1s}}));
    Until(60s);
    At(60s, Join({.id = "a", .capacity = 1000}));
    EXPECT_THAT(assigns, SizeIs(1));
    Until(70s);

    EXPECT_THAT(assigns, SizeIs(11));
}

TEST_F(LimitsTest, ARateHoldsAfterAQueueWasPaused) {
    At(0s, Join({.id = "a", .capacity = 1000}));
    At(0s, Limit("default", {.paused = true}));
    for (int i = 0; i < 100; ++i) At(0s, Once({.rate = {1, 1s}}));
    Until(60s);
    At(60s, Limit("default", {}));
    EXPECT_THAT(assigns, SizeIs(1));
    Until(70s);

    EXPECT_THAT(assigns, SizeIs(11));
}

TEST_F(LimitsTest, ARateHoldsWhenAllWorkersWereBusy) {
    At(0s, Join({.id = "a", .capacity = 10}));
    for (int i = 0; i < 10; ++i) At(0s, Once({.id = "busy" + std::to_string(i)}));
    for (int i = 0; i < 10; ++i) At(0s, Once({.rate = {1, 1s}}));
    assigns.clear();
    FinishAll(60s);

    EXPECT_THAT(assigns, SizeIs(1));
}

// Two queues share a database; one of them is paused.
TEST_F(LimitsTest, APausedQueueDoesNotHoldASharedLimit) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Limit("bulk", {.paused = true}));
    OnceSpec paused = Keyed("x");
    paused.queue = "bulk";
    At(0s, Once(paused));
    At(0s, Once(Keyed("y")));
    EXPECT_EQ(StatusOf("y"), Status::kScheduled) << CodeOf("y");
    EXPECT_EQ(CodeOf("x"), "concurrency_limit");
    At(1s, Success("y"));
    EXPECT_EQ(CodeOf("x"), "queue_paused");
    At(2s, Limit("bulk", {}));

    EXPECT_EQ(StatusOf("x"), Status::kScheduled);
}

TEST_F(LimitsTest, WhatNobodyCanRunDoesNotHoldASharedLimit) {
    At(0s, Join({.id = "a", .capacity = 10, .types = {Text("work")}}));
    OnceSpec unknown = Keyed("x");
    unknown.type = "nobody-knows";
    At(0s, Once(unknown));
    At(0s, Once(Keyed("y")));
    EXPECT_EQ(StatusOf("y"), Status::kScheduled) << CodeOf("y");
    At(1s, Success("y"));

    EXPECT_EQ(CodeOf("x"), "no_worker_for_type");
}

// A busy lane, and a task in it that may run twice at once: it is not sent to the end of the lane
// each time that one of its executions starts.
TEST_F(LimitsTest, WhatIsLimitedKeepsItsPlaceInTheLane) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "first"}));
    for (int i = 0; i < 3; ++i) {
        At(Duration(1 + 2 * i), Once(Keyed("k" + std::to_string(i), 2)));
        At(Duration(2 + 2 * i), Once({.id = "p" + std::to_string(i)}));
    }
    for (int i = 0; i < 6; ++i) At(Duration(1'000 + i), Success(AssignedIds().back()));

    EXPECT_THAT(AssignedIds(), ElementsAre("first", "k0", "p0", "k1", "p1", "k2", "p2"));
}

TEST_F(LimitsTest, UnderALimitTheMoreUrgentGoesFirst) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Once(Keyed("x")));
    OnceSpec low = Keyed("low");
    low.priority = 2;
    At(1s, Once(low));
    OnceSpec high = Keyed("high");
    high.priority = 9;
    high.queue = "other";
    At(2s, Once(high));
    At(3s, Success("x"));

    EXPECT_EQ(StatusOf("high"), Status::kScheduled);
    EXPECT_EQ(StatusOf("low"), Status::kPending);
}

// The worker is lost; so is the permit of what it ran, and somebody else may have it.
TEST_F(LimitsTest, APermitComesBackWithALostWorker) {
    config.worker_lease = 10s;
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Once(Keyed("x")));
    At(0s, Once(Keyed("y")));
    Until(11s);
    At(12s, Join({.id = "b", .capacity = 10}));

    EXPECT_EQ(HandOf("b"), 1u);
    EXPECT_EQ(StatusOf("y"), Status::kScheduled);
}

// Steps are cut short; whoever opens a limit for many still lets all of them start.
TEST_F(LimitsTest, ALimitThatIsLiftedStartsEverybodyInSeveralSteps) {
    At(0s, Join({.id = "a", .capacity = 1000}));
    for (int i = 0; i < 200; ++i) At(0s, Once(Keyed("x" + std::to_string(i))));
    EXPECT_EQ(HandOf("a"), 1u);
    At(1s, Once(Keyed("y", 1000)));
    Until(1s + 1ms);

    EXPECT_EQ(HandOf("a"), 201u);
    EXPECT_LE(changes_in_largest_step(), config.changes_per_step + 4);
}

}  // namespace
}  // namespace takt::internal
