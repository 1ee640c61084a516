// Executions that wait begin in their order under the next leader, too.
#include "base/failpoint.h"
#include "engine/history.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;

class TakeoverOrderTest : public History {
  protected:
    void SetUp() override { ASSERT_TRUE(StartFailPoints()); }

    static OnceSpec Retried(Duration delay) {
        return {.id = "odd",
                .type = "pay",
                .retry = RetryPolicy{.retries_max = 1, .delay = delay, .jitter = 0}};
    }
    // It fails once, and nobody is there when its time comes.
    void FailOnce(Duration delay) {
        At(0s, Join({.id = "a"}));
        At(0s, Once(Retried(delay)));
        At(100ms, Failure("odd"));
        At(200ms, Bye("a"));
    }
    // Two kinds wait, and "pay" was there first.
    void Fill() {
        for (const char* id : {"pay-1", "pay-2"}) At(1s, Once({.id = id, .type = "pay"}));
        for (const char* id : {"sync-1", "sync-2"}) At(2s, Once({.id = id, .type = "sync"}));
    }
    // One after the other, as a single worker takes them.
    std::vector<std::string> OrderUnderTheNextLeader() {
        assigns.clear();
        Down(10s);
        At(11s, Join({.id = "b"}));
        for (int i = 1; i < 5; ++i) At(12s, Success(AssignedIds().back()));
        return AssignedIds();
    }
};

// One payment had a delay. It is as old as the end of that, and must not hold back those of its kind
// behind all that is older than it.
TEST_F(TakeoverOrderTest, WhatHadADelayHoldsBackNobodyWhoIsOlder) {
    At(0s, Once({.id = "odd", .type = "pay", .delay = 3s}));
    Fill();
    EXPECT_THAT(OrderUnderTheNextLeader(),
                ElementsAre("pay-1", "pay-2", "sync-1", "sync-2", "odd"));
}

TEST_F(TakeoverOrderTest, WhatIsRetriedHoldsBackNobodyWhoIsOlder) {
    FailOnce(3s);
    Fill();
    Until(5s);
    ASSERT_EQ(StatusOf("odd"), Status::kPending);
    EXPECT_THAT(OrderUnderTheNextLeader(),
                ElementsAre("pay-1", "pay-2", "sync-1", "sync-2", "odd"));
}

// The time of a retry came while nobody led: that is written by the steps to come, a few at a time, and
// those of its kind that became ready later do not get before it.
TEST_F(TakeoverOrderTest, WhatBecameReadyWhileNobodyLedStaysBeforeTheYounger) {
    FailOnce(2s);
    At(1s, Once({.id = "pay-1", .type = "pay"}));
    At(1s, Once({.id = "pay-2", .type = "pay", .delay = 3s}));
    At(1s, Once({.id = "pay-3", .type = "pay", .delay = 4s}));
    At(1s, Once({.id = "pay-4", .type = "pay", .delay = 5s}));
    EXPECT_THAT(OrderUnderTheNextLeader(), ElementsAre("pay-1", "odd", "pay-2", "pay-3", "pay-4"));
}

}  // namespace
}  // namespace takt::internal
