// Queues as operators set them: paused, so many at once, so many in a time.
#include "engine/history.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class QueueLimitTest : public History {
  protected:
    void SetUp() override { config.worker_lease = config.timeout = 24h; }
};

TEST_F(QueueLimitTest, APausedQueueStartsNothingAndDelaysNoOther) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Limit("slow", {.paused = true}));
    for (int i = 0; i < 100; ++i) At(0s, Once({.queue = "slow"}));
    At(0s, Once({.id = "x", .queue = "fast"}));
    EXPECT_THAT(AssignedIds(), ElementsAre("x"));
    EXPECT_EQ(CodeOf(store.executions.begin()->first.text().str()), "queue_paused");
    Restart(1s);
    At(1s, Join({.id = "a", .capacity = 10, .holding = {RefOf("x")}}));
    EXPECT_EQ(HandOf("a"), 1u);
    At(2s, Limit("slow", {}));

    EXPECT_EQ(HandOf("a"), 10u);
    EXPECT_FALSE(store.settings.contains(Text("queue/slow")));
}

// Two operators at once: one pauses a queue for a repair, the other sets how fast it may start.
TEST_F(QueueLimitTest, AChangeOfOneLimitOfAQueueLeavesTheOthers) {
    At(0s, Limit("slow", {.working_max = 2}));
    At(0s, SetQueue{.queue = Text("slow"), .paused = true});
    At(0s, SetQueue{.queue = Text("slow"), .rate = RateLimit{.count = 5, .per = 1s}});
    EXPECT_EQ(store.settings.at(Text("queue/slow")), "1 2 5 1000");
    At(0s, Join({.id = "a", .capacity = 10}));
    for (const std::string id : {"x", "y", "z"}) At(0s, Once({.id = id, .queue = "slow"}));
    EXPECT_EQ(CodeOf("x"), "queue_paused");
    At(1s, SetQueue{.queue = Text("slow"), .paused = false});
    EXPECT_EQ(HandOf("a"), 2u);
    At(2s, SetQueue{.queue = Text("slow"), .working_max = 0});

    EXPECT_EQ(HandOf("a"), 3u);
    EXPECT_EQ(store.settings.at(Text("queue/slow")), "0 0 5 1000");
}

TEST_F(QueueLimitTest, AQueueRunsNoMoreThanItMay) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Limit("slow", {.working_max = 2}));
    for (const std::string id : {"x", "y", "z"}) At(0s, Once({.id = id, .queue = "slow"}));
    At(0s, Once({.id = "w", .queue = "fast"}));
    EXPECT_THAT(AssignedIds(), ElementsAre("x", "y", "w"));
    EXPECT_EQ(CodeOf("z"), "queue_limit");
    At(1s, Success("w"));
    EXPECT_EQ(StatusOf("z"), Status::kPending);
    At(2s, Success("x"));
    EXPECT_EQ(StatusOf("z"), Status::kScheduled);
    At(3s, Once({.id = "v", .queue = "slow"}));
    At(4s, Limit("slow", {.working_max = 3}));

    EXPECT_EQ(StatusOf("v"), Status::kScheduled);
}

// The place becomes free at a worker that does not serve what waits.
TEST_F(QueueLimitTest, APlaceInAQueueGoesToAnyWorkerWithRoom) {
    At(0s, Limit("slow", {.working_max = 1}));
    At(0s, Join({.id = "a", .types = {Text("one")}}));
    At(0s, Join({.id = "b", .types = {Text("two")}}));
    At(0s, Once({.id = "x", .type = "one", .queue = "slow"}));
    At(0s, Once({.id = "y", .type = "two", .queue = "slow"}));
    EXPECT_EQ(StatusOf("y"), Status::kPending);
    At(1s, Success("x"));

    EXPECT_EQ(StatusOf("y"), Status::kScheduled);
}

// A worker that looked in vain does not pass it over when the place becomes free.
TEST_F(QueueLimitTest, APlaceInAQueueGoesToTheMostUrgentAtOnce) {
    At(0s, Limit("slow", {.working_max = 1}));
    At(0s, Join({.id = "a", .capacity = 2}));
    At(0s, Once({.id = "x", .queue = "slow"}));
    At(0s, Once({.id = "other"}));
    At(0s, Once({.id = "urgent", .queue = "slow", .priority = 9}));
    At(1s, Success("other"));
    At(2s, Once({.id = "another"}));
    At(2s, Once({.id = "third"}));
    At(3s, Success("x"));

    EXPECT_EQ(StatusOf("urgent"), Status::kScheduled);
    EXPECT_EQ(StatusOf("third"), Status::kPending);
}

TEST_F(QueueLimitTest, AQueueStartsNoMoreInATimeThanItMay) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Limit("slow", {.rate = {.count = 1, .per = 1s}}));
    for (int i = 0; i < 3; ++i) At(0s, Once({.queue = "slow"}));
    EXPECT_THAT(assigns, SizeIs(1));
    EXPECT_EQ(CodeOf(store.executions.rbegin()->first.text().str()), "queue_rate_limit");
    Until(1001ms);
    EXPECT_THAT(assigns, SizeIs(2));
    Until(2002ms);

    EXPECT_THAT(assigns, SizeIs(3));
}

// The executions were there first; the worker that joins must not take the rate's place as waker.
TEST_F(QueueLimitTest, APacedQueueGoesOnWhenAWorkerJoinsLate) {
    At(0s, Limit("slow", {.rate = {.count = 1, .per = 1s}}));
    for (int i = 0; i < 3; ++i) At(0s, Once({.queue = "slow"}));
    Restart(1s);
    At(5s, Join({.id = "a", .capacity = 10}));
    EXPECT_THAT(assigns, SizeIs(1));
    Until(8s);

    EXPECT_THAT(assigns, SizeIs(3));
}

}  // namespace
}  // namespace takt::internal
