// Two schedulers with one node id: a configuration file was copied.
#include "server/node_id_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <mutex>

#include "base/log.h"
#include "node/driven.h"
#include "store/memory/store.h"
#include "store/store_wrapper.h"
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

// Its first answers are held until all who start have asked: each finds the id free.
class StartedTogether final : public StoreWrapper {
  public:
    StartedTogether(Store* inner, std::ptrdiff_t count)
        : StoreWrapper(inner), all_asked_(count), left_(count) {}

    void Nodes(Done<std::vector<NodeRow>> done) override {
        if (left_-- <= 0) return StoreWrapper::Nodes(std::move(done));
        StoreWrapper::Nodes(
            [this, done = std::move(done)](Result<std::vector<NodeRow>> rows) mutable {
                const std::scoped_lock lock(mutex_);
                held_.emplace_back(std::move(done), std::move(rows));
                all_asked_.count_down();
                if (!all_asked_.try_wait()) return;
                for (auto& [reply, answer] : held_) reply(std::move(answer));
                held_.clear();
            });
    }

  private:
    std::latch all_asked_;
    std::atomic<std::ptrdiff_t> left_;
    std::mutex mutex_;
    std::vector<std::pair<Done<std::vector<NodeRow>>, Result<std::vector<NodeRow>>>> held_;
};

// One configuration file was given to three machines, which a tool started at once.
TEST_F(NodeIdTest, OfThoseThatStartInTheSameMomentOneHasTheId) {
    constexpr int kCount = 3;
    StartedTogether together(&store_, kCount);
    std::vector<std::future<Result<void>>> claims;
    for (int i = 0; i < kCount; ++i) {
        claims.push_back(std::async(std::launch::async, [&together, i] {
            const NodeRow row{.node = NodeId("same"),
                              .address = Text("http://h" + std::to_string(i))};
            auto claimed = ClaimNodeId(together, row, 100ms);
            if (claimed) Announce(together, row);  // As whoever has started does.
            return claimed;
        }));
    }
    int started = 0;
    for (auto& claim : claims) {
        const auto claimed = claim.get();
        started += claimed.has_value();
        if (!claimed) EXPECT_EQ(claimed.error().code, ErrorCode::kConflict);
    }
    EXPECT_EQ(started, 1);
}

// Both were started at the same moment, and the store was too slow for either to see the other.
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

// Both say that they are where their load balancer is. Nothing tells the second one from a restart when
// it starts; but the announcement of a process that is over does not come again.
TEST_F(NodeIdTest, TwoThatAnnounceOneAddressAreToldApartByWhenTheyStarted) {
    DrivenRuntime runtime;
    MemoryStore store(std::make_shared<MemoryDatabase>(),
                      [&](auto work) { runtime.Post(std::move(work)); });
    NodeRow mine = kMine;
    mine.started_at = Time(Duration(2'000));
    NodeRow other = kMine;
    other.started_at = Time(Duration(1'000));
    NodeIdWatch watch(runtime, store, mine, 10s);
    const auto announce = [&](const NodeRow& row) {
        store.Announce(row, 60s, [](const Result<void>&) {});
        runtime.Pass(2s);
    };
    watch.Start();
    announce(other);
    announce(mine);
    EXPECT_TRUE(log_.lines().empty()) << "it was started anew";
    announce(other);
    ASSERT_EQ(log_.lines().size(), 1u);
    EXPECT_TRUE(log_.lines()[0].contains("server.advertise")) << log_.lines()[0];
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
