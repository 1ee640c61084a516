// Namespaces of a process share room for requests, and take turns at loading.
#include "node/commons.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "node/driven.h"
#include "node/node.h"

namespace takt::internal {
namespace {

// One namespace is asked as fast as the network lets it. Another one is asked now and then.
TEST(SharedBound, WhoAsksWithoutEndKeepsOutNobodyElse) {
    const auto bound = std::make_shared<SharedBound>(100);
    SharedBound::Share loud(bound);
    SharedBound::Share quiet(bound);
    for (int i = 0; i < 1000 && !loud.full(); ++i) loud.Add(1);
    EXPECT_TRUE(loud.full());
    EXPECT_FALSE(quiet.full()) << "it has nothing yet";
    for (int i = 0; i < 1000 && !quiet.full(); ++i) quiet.Add(1);
    loud.Remove(60);
    EXPECT_FALSE(loud.full()) << "there is room";
    loud.Add(50);
    EXPECT_TRUE(loud.full());
    EXPECT_TRUE(quiet.full()) << "half of it is its share";
}

// Alone one has all of it, as if nobody else could be there.
TEST(SharedBound, WhoIsAloneHasAllOfIt) {
    const auto bound = std::make_shared<SharedBound>(3);
    SharedBound::Share alone(bound);
    alone.Add(2);
    EXPECT_FALSE(alone.full());
    alone.Add(1);
    EXPECT_TRUE(alone.full());
    {
        SharedBound::Share other(bound);
        other.Set(5);
        alone.Set(2);
        EXPECT_TRUE(alone.full()) << "its share is one";
    }
    EXPECT_FALSE(alone.full()) << "what is gone gives back what it had";
}

class LoadTurnsTest : public ::testing::Test {
  protected:
    LoadTurns::Place Enter(Partition partition) {
        return turns->Enter(partition, [this, partition] { begun.push_back(partition); });
    }
    const std::shared_ptr<LoadTurns> turns = std::make_shared<LoadTurns>();
    std::vector<Partition> begun;
};

// A scheduler takes over what another one led.
TEST_F(LoadTurnsTest, FourLoadAtOnceAndTheDefaultOneGoesAhead) {
    std::vector<LoadTurns::Place> places;
    for (const int partition : {7, 3, 9, 4, 5, 6, 0, 8})
        places.push_back(Enter(Partition(partition)));
    EXPECT_EQ(begun, (std::vector<Partition>{7, 3, 9, 4}));
    places[1].Leave();
    EXPECT_EQ(begun.back(), 0);
    places[5].Leave();  // It gave up before its turn.
    EXPECT_EQ(begun.size(), 5u);
    places[0].Leave();
    places[0].Leave();
    EXPECT_EQ(begun, (std::vector<Partition>{7, 3, 9, 4, 0, 5}));
    places.clear();
}

// A scheduler takes over six namespaces at once: the store is asked for four of them, and for the next
// one when one of these is loaded.
TEST(Commons, NodesOfOneProcessLoadFourAtATime) {
    const LogCapture quiet;
    DrivenRuntime runtime;
    DrivenStore store;
    NodeConfig config;
    config.leadership.node = NodeId("a");
    config.commons = std::make_shared<const Commons>();
    std::vector<std::unique_ptr<Node>> nodes;
    for (Partition p = 1; p <= 6; ++p) {
        config.leadership.partition = p;
        nodes.push_back(std::make_unique<Node>(runtime, store, config, SeedOf(p), nullptr));
        nodes.back()->Start();
    }
    runtime.Pass(3s);
    ASSERT_EQ(store.acquires.size(), 6u);
    while (!store.acquires.empty()) store.GiveTerm(1, 1);
    runtime.Run();
    EXPECT_EQ(store.loads.size(), 4u);
    DrivenStore::Reply(store.loads, Result<LoadPage>(LoadPage{}));
    runtime.Run();
    EXPECT_EQ(store.loads.size(), 4u);
    nodes.clear();
}

// Memory is finite: what bounds a process is shared by the namespaces that it leads, and the one that
// has most of it is refused.
TEST(Commons, ExecutionsInMemoryAreBoundedForAllNodesTogether) {
    const LogCapture quiet;
    DrivenRuntime runtime;
    DrivenStore store;
    NodeConfig config;
    config.leadership.node = NodeId("a");
    config.commons = std::make_shared<const Commons>(CommonBounds{.live_max = 4});
    std::vector<std::unique_ptr<Node>> nodes;
    for (Partition p = 1; p <= 2; ++p) {
        config.leadership.partition = p;
        nodes.push_back(std::make_unique<Node>(runtime, store, config, SeedOf(p), nullptr));
        nodes.back()->Start();
    }
    runtime.Pass(3s);
    while (!store.acquires.empty()) store.GiveTerm(1, 1);
    runtime.Run();
    for (int i = 0; i < 2; ++i) {
        DrivenStore::Reply(store.loads, Result<LoadPage>(LoadPage{}));
        runtime.Run();
    }
    int refused = 0;
    std::string why;
    const auto submit = [&](Node& node, int count) {
        for (int i = 0; i < count; ++i) {
            auto task = NewTaskPtr(new Task);
            task->queue = "default";
            task->type = "work";
            node.Ask(Submit{0, std::move(task)}, [&](const Result<Answer>& answer) {
                if (answer || answer.error().code != ErrorCode::kExhausted) return;
                ++refused;
                why = answer.error().detail;
            });
            runtime.Run();
        }
    };
    submit(*nodes[0], 6);
    EXPECT_EQ(refused, 2);
    EXPECT_NE(why.find("scheduler.executions_max"), std::string::npos) << why;
    refused = 0;
    submit(*nodes[1], 3);
    EXPECT_EQ(refused, 1) << "two of four are its share, whatever the other one has";
    nodes.clear();
}

}  // namespace
}  // namespace takt::internal
