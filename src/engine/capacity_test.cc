// How many attempts a worker is given at once, changed while it runs: by itself, by an operator, by
// both.
#include "engine/history.h"

namespace takt::internal {
namespace {

class CapacityTest : public History {
  protected:
    void Submit(int count) {
        for (int i = 0; i < count; ++i)
            At(now_ += 1ms, Once({.id = "e" + std::to_string(++last_)}));
    }
    const Worker& WorkerRow(const std::string& id) {
        return engine().FindWorker(WorkerId(Text(id)))->row;
    }
    Heartbeat BeatWith(const std::string& worker, std::uint32_t capacity) {
        return {SessionOf(worker), {}, capacity};
    }

    Duration now_{0};
    int last_ = 0;
};

// Black Friday: an operator gives a worker more to do than it asked for.
TEST_F(CapacityTest, MoreIsGivenAtOnceWhenAnOperatorRaisesIt) {
    At(0ms, Join({.id = "a", .capacity = 2}));
    Submit(5);
    EXPECT_EQ(HandOf("a"), 2u);
    At(now_ += 1ms, Resize("a", 4));
    EXPECT_EQ(HandOf("a"), 4u);
    ASSERT_EQ(capacities.size(), 1u);
    EXPECT_EQ(capacities[0].capacity, 4u) << "the worker is told";
    EXPECT_EQ(EventCount(EventType::kWorkerChanged), 1u);
    EXPECT_EQ(WorkerRow("a").capacity_said, 2u);
}

// The machine is hot: less is to be done there, and nothing that runs is disturbed for it.
TEST_F(CapacityTest, WhatRunsGoesOnWhenItIsLowered) {
    At(0ms, Join({.id = "a", .capacity = 3}));
    Submit(5);
    At(now_ += 1ms, Resize("a", 1));
    EXPECT_EQ(HandOf("a"), 3u);
    EXPECT_TRUE(stops.empty());
    At(now_ += 1ms, Success("e1"));
    At(now_ += 1ms, Success("e2"));
    EXPECT_EQ(HandOf("a"), 1u) << "nothing new while as much runs as may";
    At(now_ += 1ms, Success("e3"));
    EXPECT_EQ(HandOf("a"), 1u);
    EXPECT_EQ(AssignedIds().back(), "e4");
}

TEST_F(CapacityTest, AWorkerChangesItsOwnByAHeartbeat) {
    At(0ms, Join({.id = "a", .capacity = 1}));
    Submit(3);
    At(now_ += 1ms, BeatWith("a", 3));
    EXPECT_EQ(HandOf("a"), 3u);
    At(now_ += 1ms, Beat("a"));
    EXPECT_EQ(WorkerRow("a").capacity, 3u) << "a heartbeat that says nothing of it changes nothing";
    EXPECT_EQ(EventCount(EventType::kWorkerChanged), 1u);
    Restart(now_ += 1ms);
    EXPECT_EQ(WorkerRow("a").capacity, 3u);
}

// Both speak: the operator's word counts until it is taken back, and the worker's is remembered.
TEST_F(CapacityTest, AnOperatorsWordGoesBeforeTheWorkers) {
    At(0ms, Join({.id = "a", .capacity = 2}));
    At(1ms, Resize("a", 5));
    At(2ms, BeatWith("a", 8));
    EXPECT_EQ(WorkerRow("a").capacity, 5u);
    At(3ms, Resize("a", 0));
    EXPECT_EQ(WorkerRow("a").capacity, 8u);
    EXPECT_EQ(capacities.back().capacity, 0u) << "the worker is told that its own counts again";
}

// It holds over a new leader, a new session and a new process, and ends when the worker leaves.
TEST_F(CapacityTest, AnOperatorsWordHoldsWhileTheWorkerIsKnown) {
    At(0ms, Join({.id = "a", .capacity = 2}));
    At(1ms, Resize("a", 5));
    Restart(2ms);
    At(3ms, Join({.id = "a", .capacity = 2}));
    EXPECT_EQ(WorkerRow("a").capacity, 5u);
    EXPECT_EQ(capacities.back().capacity, 5u) << "a session is told of it when it begins";
    At(4ms, Join({.id = "a", .capacity = 3, .instance = "2"}));
    EXPECT_EQ(WorkerRow("a").capacity, 5u);
    EXPECT_EQ(WorkerRow("a").capacity_said, 3u);
    At(5ms, Bye("a"));
    At(6ms, Join({.id = "a", .capacity = 2}));
    EXPECT_EQ(WorkerRow("a").capacity, 2u);
}

TEST_F(CapacityTest, OfAWorkerThatNobodyKnowsItCannotBeSet) {
    At(0ms, Resize("nobody", 5));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace takt::internal
