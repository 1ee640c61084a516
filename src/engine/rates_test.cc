// Rates of tasks, keys and queues: how many start in a time, and that leaders change nothing of it.
#include "engine/history.h"

namespace takt::internal {
namespace {

using ::testing::SizeIs;

class RatesTest : public History {
  protected:
    void SetUp() override { config.worker_lease = config.timeout = 24h; }
};

// --- Rates --------------------------------------------------------------------------------------

// A partner allows two calls a second.
TEST_F(RatesTest, ARateLimitLetsABurstThroughAndThenOneByOne) {
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
TEST_F(RatesTest, AnotherRateDoesNotFillTheBucket) {
    At(0s, Join({.id = "a", .capacity = 100}));
    for (std::uint32_t i = 0; i < 20; ++i) {
        At(0s, Once({.concurrency_key = "api", .rate = {.count = 2 + i % 2, .per = 1h}}));
    }

    EXPECT_LE(assigns.size(), 3u);
}

TEST_F(RatesTest, ANewLeaderDoesNotOweStartsForWhatIsAtWork) {
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

TEST_F(RatesTest, BothLimitsAreExplainedByTheOneThatHolds) {
    At(0s, Join({.id = "a", .capacity = 10}));
    const RateLimit rate{.count = 1, .per = 1h};
    At(0s, Once({.id = "x", .concurrency_max = 5, .rate = rate}));
    At(0s, Once({.id = "y", .concurrency_max = 5, .rate = rate}));

    EXPECT_EQ(CodeOf("y"), "rate_limit");
}

// Two tasks share a key; the rate of the one accepted last holds for both.
TEST_F(RatesTest, ARateIsExplainedAsItHoldsNotAsTheTaskNamesIt) {
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
TEST_F(RatesTest, GatesAreForgottenWhenNobodyNeedsThem) {
    config.cleanup_interval = 1min;
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Once({.id = "x", .concurrency_key = "one", .concurrency_max = 1}));
    At(0s, Once({.id = "y", .concurrency_key = "two", .rate = {.count = 1, .per = 1min}}));
    At(0s, Once({.id = "z", .concurrency_key = "three", .rate = {.count = 1, .per = 1h}}));
    EXPECT_EQ(engine().limit_count(), 3u);
    for (const std::string id : {"x", "y", "z"}) At(1s, Success(id));
    EXPECT_EQ(engine().limit_count(), 2u);
    Until(5min);

    // The third has a bucket to fill still: forgotten now, it would let two start in its hour.
    EXPECT_EQ(engine().limit_count(), 1u);
    Until(2h);
    EXPECT_EQ(engine().limit_count(), 0u);
}

// --- Rates survive leaders ----------------------------------------------------------------------

// A quota of ten a day, and a bad day: the scheduler is restarted ten times.
TEST_F(RatesTest, AQuotaPerDayIsOneQuotaThroughTenRestarts) {
    At(0s, Join({.id = "a", .capacity = 100}));
    for (int i = 0; i < 40; ++i) At(0s, Once({.id = "x" + std::to_string(i), .rate = {10, 24h}}));
    EXPECT_THAT(assigns, SizeIs(10));
    FinishAll(1s);
    for (int i = 1; i <= 10; ++i) {
        Restart(i * 1min);
        At(i * 1min, Join({.id = "a", .capacity = 100}));
        FinishAll(i * 1min + 1s);
    }
    EXPECT_THAT(assigns, SizeIs(10));
    Until(24h);

    EXPECT_THAT(assigns, SizeIs(20));
}

// … also if nobody is there of the key's when the leader changes.
TEST_F(RatesTest, AQuotaIsRememberedWithoutAnybodyWhoNeedsIt) {
    At(0s, Join({.id = "a", .capacity = 100}));
    for (int i = 0; i < 10; ++i) At(0s, Once({.rate = {10, 24h}}));
    FinishAll(1s);
    Restart(1min);
    At(1min, Join({.id = "a", .capacity = 100}));
    At(2min, Once({.id = "late", .rate = {10, 24h}}));

    EXPECT_EQ(CodeOf("late"), "rate_limit");
}

TEST_F(RatesTest, AQueuesQuotaIsOneQuotaThroughTenRestarts) {
    At(0s, Limit("slow", {.rate = {10, 24h}}));
    At(0s, Join({.id = "a", .capacity = 100}));
    for (int i = 0; i < 40; ++i) At(0s, Once({.queue = "slow"}));
    EXPECT_THAT(assigns, SizeIs(10));
    FinishAll(1s);
    for (int i = 1; i <= 10; ++i) {
        Restart(i * 1min);
        At(i * 1min, Join({.id = "a", .capacity = 100}));
        FinishAll(i * 1min + 1s);
    }
    EXPECT_THAT(assigns, SizeIs(10));
    At(1h, Limit("slow", {}));

    EXPECT_THAT(store.settings, ::testing::IsEmpty());
}

// Tasks that call a third party's API share its rate, and nothing else.
TEST_F(RatesTest, AKeySharesARateWithoutAMaximum) {
    At(0s, Join({.id = "a", .capacity = 100}));
    for (int i = 0; i < 3; ++i) {
        At(0s, Once({.id = "x" + std::to_string(i), .concurrency_key = "api", .rate = {4, 1h}}));
        At(0s, Once({.id = "y" + std::to_string(i), .concurrency_key = "api", .rate = {4, 1h}}));
    }
    EXPECT_THAT(assigns, SizeIs(4)) << "all at once";
    EXPECT_EQ(CodeOf("x2"), "rate_limit");
    Restart(1min);
    At(1min, Join({.id = "a", .capacity = 100}));
    At(2min, Once({.id = "late", .concurrency_key = "api", .rate = {4, 1h}}));
    EXPECT_EQ(CodeOf("late"), "rate_limit");
}

// The next leader's clock is a day behind, then a day ahead.
TEST_F(RatesTest, AQuotaTakesClocksThatDifferForWhatTheyAre) {
    At(0s, Join({.id = "a", .capacity = 100}));
    for (int i = 0; i < 40; ++i) At(0s, Once({.id = "x" + std::to_string(i), .rate = {10, 1h}}));
    FinishAll(1s);
    JumpWall(-24h);
    Restart(1min);
    At(1min, Join({.id = "a", .capacity = 100}));
    Until(2min);
    EXPECT_THAT(assigns, SizeIs(10));
    Until(13min);
    EXPECT_THAT(assigns, SizeIs(12)) << "it goes on from what was left";
}

}  // namespace
}  // namespace takt::internal
