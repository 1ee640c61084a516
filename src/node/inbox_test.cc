#include "node/inbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace takt::internal {
namespace {

class InboxTest : public ::testing::Test {
  protected:
    bool Ask() {
        Inbox::Item item{Tick{}, [](const Result<Answer>&) {}};
        return inbox_.Ask(item);
    }
    // Takes up to `max`, and says how many.
    int Take(int max) {
        int taken = 0;
        more_ = inbox_.TakeEach([&](Inbox::Item&) { return ++taken < max; });
        return taken;
    }

    int woken_ = 0;
    bool more_ = false;
    Inbox inbox_{std::make_shared<SharedBound>(3), [this] { ++woken_; }};
};

// The node is woken once for whatever comes before it is there.
TEST_F(InboxTest, WakesOnceUntilAllIsTaken) {
    EXPECT_TRUE(Ask());
    EXPECT_TRUE(Ask());
    EXPECT_EQ(woken_, 1);
    EXPECT_EQ(Take(10), 2);
    EXPECT_FALSE(more_);
    EXPECT_TRUE(Ask());
    EXPECT_EQ(woken_, 2);
}

// A turn of the node's loop has an end, however much there is: the rest waits for the next one.
TEST_F(InboxTest, LeavesTheRestForTheNextTurn) {
    inbox_.Tell(std::vector<Input>(5, Tick{}));
    EXPECT_EQ(Take(2), 2);
    EXPECT_TRUE(more_);
    EXPECT_EQ(Take(2), 2);
    EXPECT_TRUE(more_);
    inbox_.Tell(Tick{});
    EXPECT_EQ(woken_, 1) << "whoever has to come again need not be woken";
    EXPECT_EQ(Take(2), 1);
    EXPECT_TRUE(more_);
    EXPECT_EQ(Take(2), 1);
    EXPECT_FALSE(more_);
}

// A flood of requests is refused when too many wait, also those of an earlier turn; what workers
// say is always taken.
TEST_F(InboxTest, RefusesRequestsBeyondItsBound) {
    EXPECT_TRUE(Ask());
    EXPECT_TRUE(Ask());
    EXPECT_TRUE(Ask());
    EXPECT_FALSE(Ask());
    inbox_.Tell(Tick{});
    EXPECT_EQ(Take(1), 1);
    EXPECT_FALSE(Ask()) << "three are left";
    EXPECT_EQ(Take(1), 1);
    EXPECT_TRUE(Ask());
}

TEST_F(InboxTest, NothingIsLostBetweenThreads) {
    std::atomic<int> wakes = 0;
    Inbox inbox(std::make_shared<SharedBound>(1'000'000), [&] {
        wakes.fetch_add(1);
        wakes.notify_one();
    });
    constexpr int kEach = 20'000;
    std::vector<std::thread> tellers;
    for (int i = 0; i < 3; ++i) {
        tellers.emplace_back([&] {
            for (int n = 0; n < kEach; ++n) inbox.Tell(Tick{});
        });
    }
    int taken = 0;
    for (int seen = 0; taken < 3 * kEach;) {
        wakes.wait(seen);
        seen = wakes.load();
        for (bool more = true; more;) {
            int turn = 0;
            more = inbox.TakeEach([&](Inbox::Item&) { return ++taken, ++turn < 100; });
        }
    }
    for (std::thread& teller : tellers) teller.join();
    EXPECT_EQ(taken, 3 * kEach);
}

}  // namespace
}  // namespace takt::internal
