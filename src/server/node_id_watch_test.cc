// Two schedulers with one node id: a configuration file was copied.
#include "server/node_id_watch.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "node/driven.h"
#include "store/memory/store.h"
#include "store/wait.h"

namespace takt::internal {
namespace {

const NodeRow kMine{.node = NodeId("same"), .address = "http://10.0.0.5:8080"};
const NodeRow kOther{.node = NodeId("same"), .address = "http://10.0.0.7:8080"};

void Announce(Store& store, const NodeRow& row, Duration ttl = 60s) {
    ASSERT_TRUE(AskStore<void>([&](auto done) { store.Announce(row, ttl, std::move(done)); }));
}

class NodeIdTest : public testing::Test {
  protected:
    const LogCapture log_;
    MemoryStore store_{std::make_shared<MemoryDatabase>()};
};

TEST_F(NodeIdTest, AnIdThatALivingSchedulerHasIsRefusedWithItsAddress) {
    Announce(store_, kOther);

    const auto claimed = ClaimNodeId(store_, kMine, 100ms);

    ASSERT_FALSE(claimed);
    EXPECT_EQ(claimed.error().code, ErrorCode::kConflict);
    EXPECT_EQ(claimed.error().field, "server.node_id");
    EXPECT_TRUE(claimed.error().detail.contains("http://10.0.0.7:8080")) << claimed.error().detail;
}

// The scheduler died, and is started again on another machine before its announcement ends.
TEST_F(NodeIdTest, TheIdOfADeadSchedulerIsTaken) {
    Announce(store_, kOther, 300ms);
    EXPECT_TRUE(ClaimNodeId(store_, kMine, 60s));
}

// Or where it was: nobody else can have that address, and nothing is waited for.
TEST_F(NodeIdTest, ARestartInTheSamePlaceDoesNotWait) {
    Announce(store_, kMine);
    const Steady begun = SteadyClock::now();
    EXPECT_TRUE(ClaimNodeId(store_, kMine, 60s));
    EXPECT_LT(SteadyClock::now() - begun, 30s);
}

// Both were started at the same moment, and neither saw the other.
TEST_F(NodeIdTest, AWatchSaysWhoElseUsesTheIdNowAndThen) {
    DrivenRuntime runtime;
    MemoryStore store(std::make_shared<MemoryDatabase>(),
                      [&](auto work) { runtime.Post(std::move(work)); });
    NodeIdWatch watch(runtime, store, kMine, 10s);
    const auto announce = [&](const NodeRow& row) {
        store.Announce(row, 60s, [](const Result<void>&) {});
        runtime.Pass(2s);
    };
    watch.Start();
    announce(kOther);
    EXPECT_TRUE(log_.lines().empty()) << "it may be dead";
    announce(kMine);
    announce(kOther);
    runtime.Pass(10s);
    ASSERT_EQ(log_.lines().size(), 1u);
    EXPECT_TRUE(log_.lines()[0].contains("http://10.0.0.7:8080")) << log_.lines()[0];
    runtime.Pass(30s);
    EXPECT_EQ(log_.lines().size(), 2u);
}

// A store in which the last who came keeps the announcement: this one never sees its own.
TEST_F(NodeIdTest, AnAnnouncementThatOutlastsItsTtlIsALivingOnes) {
    DrivenRuntime runtime;
    MemoryStore store(std::make_shared<MemoryDatabase>(),
                      [&](auto work) { runtime.Post(std::move(work)); });
    NodeIdWatch watch(runtime, store, kMine, 10s);
    store.Announce(kOther, 60s, [](const Result<void>&) {});
    watch.Start();
    runtime.Pass(10s);
    EXPECT_TRUE(log_.lines().empty());
    runtime.Pass(5s);
    EXPECT_EQ(log_.lines().size(), 1u);
}

}  // namespace
}  // namespace takt::internal
