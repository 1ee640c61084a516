// Limits of tasks and keys: how many at once, how many in a time.
#include "engine/history.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class GateTest : public History {
  protected:
    void SetUp() override { config.worker_lease = config.timeout = 24h; }
    static OnceSpec Keyed(std::string id, std::uint32_t max = 1) {
        return {.id = std::move(id), .concurrency_key = "db", .concurrency_max = max};
    }
};

// --- Concurrency --------------------------------------------------------------------------------

// A licence for one export at a time.
TEST_F(GateTest, AConcurrencyLimitHoldsTheRestBackInOrder) {
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
TEST_F(GateTest, AKeyIsSharedByWhoeverNamesIt) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 1h, .options = {.concurrency_key = "db", .concurrency_max = 1}}));
    At(0s, TriggerOf("report"));
    At(1s, Once(Keyed("x")));
    EXPECT_EQ(CodeOf("x"), "concurrency_limit");
    At(2s, Success(RunOf("report", 0)));

    EXPECT_EQ(StatusOf("x"), Status::kScheduled);
}

TEST_F(GateTest, ARetryGivesItsRoomBackMeanwhile) {
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

TEST_F(GateTest, ARaisedLimitCountsAtOnceForThoseWhoWait) {
    At(0s, Join({.id = "a", .capacity = 10}));
    for (const std::string id : {"x", "y", "z"}) At(0s, Once(Keyed(id)));
    EXPECT_EQ(HandOf("a"), 1u);
    At(1s, Once(Keyed("w", 3)));
    EXPECT_THAT(AssignedIds(), ElementsAre("x", "y", "z"));
    // Those who said something else before do not bring it back when they leave.
    At(2s, Success("x"));
    At(2s, Success("y"));
    At(2s, Once(Keyed("v", 3)));

    EXPECT_EQ(HandOf("a"), 3u);
}

TEST_F(GateTest, AChangedTaskRaisesTheLimitOfItsRuns) {
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
TEST_F(GateTest, ALimitTakenAwayLetsThoseThroughWhoWait) {
    At(0s, Join({.id = "a", .capacity = 10}));
    TaskOptions options{.concurrency_max = 1, .mode = Mode::kParallel};
    At(0s, Put({.every = 1h, .options = options}));
    for (int i = 0; i < 3; ++i) At(1s, TriggerOf("report"));
    EXPECT_EQ(HandOf("a"), 1u);
    options.concurrency_max = 0;
    At(2s, Put({.every = 1h, .options = options}));
    EXPECT_EQ(HandOf("a"), 3u);
    FinishAll(3s);

    EXPECT_EQ(engine().gate_count(), 0u);
}

// The same for the runs that a new leader finds: they were made when there was a limit.
TEST_F(GateTest, ALimitTakenAwayIsGoneForTheNextLeaderToo) {
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
TEST_F(GateTest, WhoeverLeavesAKeyDoesNotOpenItForOthers) {
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
TEST_F(GateTest, AKeyNeverMeetsTheLimitOfAName) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 1h, .options = {.concurrency_max = 1}}));
    At(0s, TriggerOf("report"));
    At(0s, Once({.id = "x", .name = "export", .concurrency_max = 1}));
    At(0s, Once({.id = "y", .concurrency_key = "name/export", .concurrency_max = 1}));
    At(0s, Once({.id = "z", .concurrency_key = "task/report", .concurrency_max = 1}));

    EXPECT_EQ(HandOf("a"), 4u);
}

// Whatever ends an execution in front of the gate or behind it leaves the gate right.
TEST_F(GateTest, WhatEndsAtTheGateLeavesItRight) {
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

    EXPECT_EQ(StatusOf("w"), Status::kScheduled);
}

TEST_F(GateTest, ARestartKeepsRoomTakenAndOrder) {
    At(0s, Join({.id = "a", .capacity = 10}));
    for (const std::string id : {"x", "y", "z"}) At(0s, Once(Keyed(id)));
    Restart(1s);
    At(1s, Join({.id = "a", .capacity = 10, .holding = {RefOf("x")}}));
    EXPECT_EQ(HandOf("a"), 1u);
    EXPECT_EQ(CodeOf("y"), "concurrency_limit");
    At(2s, Success("x"));

    EXPECT_THAT(AssignedIds(), ElementsAre("x", "y"));
}

// --- Rates --------------------------------------------------------------------------------------

// A partner allows two calls a second.
TEST_F(GateTest, ARateLimitLetsABurstThroughAndThenOneByOne) {
    At(0s, Join({.id = "a", .capacity = 10}));
    for (int i = 0; i < 5; ++i) At(0s, Once({.rate = {.count = 2, .per = 1s}}));
    EXPECT_THAT(assigns, SizeIs(2));
    EXPECT_EQ(engine()
                  .Explain(Row(store.executions.rbegin()->first.text().str()).id,
                           {WallAt(0s), Steady(7h)})
                  ->code,
              "rate_limit");
    Until(499ms);
    EXPECT_THAT(assigns, SizeIs(2));
    Until(501ms);
    EXPECT_THAT(assigns, SizeIs(3));
    Until(1002ms);
    EXPECT_THAT(assigns, SizeIs(4));
    Until(10s);
    EXPECT_THAT(assigns, SizeIs(5));
    // The bucket is no fuller than a burst however long nobody came.
    for (int i = 0; i < 5; ++i) At(60s, Once({.rate = {.count = 2, .per = 1s}}));

    EXPECT_THAT(assigns, SizeIs(7));
}

// Two tasks share a key and do not agree.
TEST_F(GateTest, AnotherRateDoesNotFillTheBucket) {
    At(0s, Join({.id = "a", .capacity = 100}));
    for (std::uint32_t i = 0; i < 20; ++i) {
        At(0s, Once({.concurrency_key = "api", .rate = {.count = 2 + i % 2, .per = 1h}}));
    }

    EXPECT_LE(assigns.size(), 3u);
}

TEST_F(GateTest, ANewLeaderDoesNotOweStartsForWhatIsAtWork) {
    At(0s, Join({.id = "a", .capacity = 100}));
    for (int i = 0; i < 10; ++i) At(i * 10s, Once({.rate = {.count = 1, .per = 10s}}));
    EXPECT_EQ(HandOf("a"), 10u);
    std::vector<AttemptRef> holding;
    for (const auto& [id, row] : store.executions) holding.push_back(RefOf(id.text().str()));
    Restart(100s);
    At(100s, Join({.id = "a", .capacity = 100, .holding = holding}));
    At(111s, Once({.rate = {.count = 1, .per = 10s}}));

    EXPECT_EQ(HandOf("a"), 11u);
}

TEST_F(GateTest, BothLimitsAreExplainedByTheOneThatHolds) {
    At(0s, Join({.id = "a", .capacity = 10}));
    const RateLimit rate{.count = 1, .per = 1h};
    At(0s, Once({.id = "x", .concurrency_max = 5, .rate = rate}));
    At(0s, Once({.id = "y", .concurrency_max = 5, .rate = rate}));

    EXPECT_EQ(CodeOf("y"), "rate_limit");
}

// Two tasks share a key; the rate of the one accepted last holds for both.
TEST_F(GateTest, ARateIsExplainedAsItHoldsNotAsTheTaskNamesIt) {
    At(0s, Join({.id = "a", .capacity = 10}));
    const auto limited = [](std::string id, std::uint32_t count) {
        return OnceSpec{
            .id = std::move(id), .concurrency_key = "api", .rate = {.count = count, .per = 1h}};
    };
    for (const std::string id : {"x", "y", "z"}) At(0s, Once(limited(id, 2)));
    At(1s, Once(limited("last", 1)));

    const auto explained = engine().Explain(ExecutionId("z"), {WallAt(1s), Steady(7h + 1s)});
    ASSERT_TRUE(explained);
    EXPECT_EQ(explained->sentence, "its rate limit of 1 per 1h is reached");
}

// A limit of each customer's own, for a million customers.
TEST_F(GateTest, GatesAreForgottenWhenNobodyNeedsThem) {
    config.cleanup_interval = 1min;
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Once({.id = "x", .concurrency_key = "one", .concurrency_max = 1}));
    At(0s, Once({.id = "y", .concurrency_key = "two", .rate = {.count = 1, .per = 1min}}));
    At(0s, Once({.id = "z", .concurrency_key = "three", .rate = {.count = 1, .per = 1h}}));
    EXPECT_EQ(engine().gate_count(), 3u);
    for (const std::string id : {"x", "y", "z"}) At(1s, Success(id));
    EXPECT_EQ(engine().gate_count(), 2u);
    Until(5min);

    // The third has a bucket to fill still: forgotten now, it would let two start in its hour.
    EXPECT_EQ(engine().gate_count(), 1u);
    Until(2h);
    EXPECT_EQ(engine().gate_count(), 0u);
}

}  // namespace
}  // namespace takt::internal
