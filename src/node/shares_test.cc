// Shares: who should lead what.
#include "node/shares.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

class SharesTest : public ::testing::Test {
  protected:
    static constexpr Steady kNow{1h};

    SharesTest() {
        view.self = NodeId("a");
        view.now = kNow;
        view.started = kNow - 10min;
    }
    void AddPeer(const char* node, Duration there_for = 10min, std::vector<Text> may = {}) {
        view.peers.push_back(
            {{.node = NodeId(node), .namespaces = std::move(may)}, kNow - there_for});
    }
    // A partition, led by the node; null: by nobody.
    void AddSeat(Partition partition, const char* leader, Duration led_for = 10min) {
        view.seats.push_back(
            {.partition = partition,
             .name = partition == 0 ? "default" : Text("n" + std::to_string(partition)),
             .led_since = kNow - led_for,
             .open_since = kNow});
        if (leader) view.leaders.push_back({partition, NodeId(leader), {}, 1, 1});
    }
    std::map<Partition, Duration> Campaigns() const { return PlanCampaigns(view, times); }
    std::map<Partition, Duration> CampaignsOf(const char* node) {
        ShareView other = view;
        other.self = NodeId(node);
        return PlanCampaigns(other, times);
    }
    std::optional<HandOver> Hand(Duration since_last = 1h) const {
        return PlanHandOver(view, times, kNow - since_last);
    }

    ShareView view;
    ShareTimes times;
};

TEST_F(SharesTest, AloneANodeGoesForEverythingAtOnce) {
    AddPeer("a");
    for (int p = 0; p < 20; ++p) AddSeat(Partition(p), nullptr);

    const auto plan = Campaigns();
    ASSERT_EQ(plan.size(), 20u);
    for (const auto& [partition, delay] : plan) EXPECT_EQ(delay, 0ms);
}

// One of three dies: each of the others goes at once for half of what it led, and for no other half.
TEST_F(SharesTest, WhatADeadNodeLedIsSpreadOverTheRest) {
    AddPeer("a");
    AddPeer("b");
    for (int p = 0; p < 4; ++p) AddSeat(Partition(p), "a");
    for (int p = 4; p < 8; ++p) AddSeat(Partition(p), "b");
    for (int p = 8; p < 12; ++p) AddSeat(Partition(p), nullptr);

    const auto a = CampaignsOf("a");
    const auto b = CampaignsOf("b");
    int at_once = 0;
    for (Partition p = 8; p < 12; ++p) {
        ASSERT_TRUE(a.contains(p) && b.contains(p));
        EXPECT_NE(a.at(p) == 0ms, b.at(p) == 0ms) << "one of them, not both";
        at_once += a.at(p) == 0ms;
        EXPECT_LE(std::max(a.at(p), b.at(p)), 100ms);
        EXPECT_GE(std::max(a.at(p), b.at(p)), 25ms);
    }
    EXPECT_EQ(at_once, 2);
}

// It reads again while it goes for its half, and has the first of it: the other half stays the other's.
TEST_F(SharesTest, APlanThatIsHalfDoneIsNotDealtAnew) {
    AddPeer("a");
    AddPeer("b");
    for (int p = 0; p < 4; ++p) AddSeat(Partition(p), nullptr);
    ASSERT_EQ(Campaigns().at(0), 0ms);
    ASSERT_EQ(Campaigns().at(2), 0ms);

    view.seats[0].going_since = kNow - 2ms;
    view.leaders.push_back({2, NodeId("a"), {}, 1, 1});

    EXPECT_EQ(Campaigns().at(0), 0ms);
    EXPECT_GT(Campaigns().at(1), 0ms);
    EXPECT_GT(Campaigns().at(3), 0ms);
    view.seats[0].going_since = kNow - 2s;
    EXPECT_GT(Campaigns().at(0), 0ms) << "it has had its time";
}

TEST_F(SharesTest, TheNodeWithFewestGoesFirstAndOthersLaterTheMoreTheyLead) {
    AddPeer("a");
    AddPeer("b");
    AddPeer("c");
    for (int p = 0; p < 3; ++p) AddSeat(Partition(p), "a");
    for (int p = 3; p < 20; ++p) AddSeat(Partition(p), "b");
    AddSeat(20, nullptr);

    EXPECT_EQ(CampaignsOf("c").at(20), 0ms);
    EXPECT_EQ(CampaignsOf("a").at(20), 100ms);
    EXPECT_EQ(CampaignsOf("b").at(20), 100ms) << "at most";
    view.read_gap = 450ms;
    EXPECT_EQ(CampaignsOf("a").at(20), 550ms) << "the one with fewest has read it by then";
}

// A namespace is made. The node that was asked for it knows it a second before the others do, and leads
// more than they.
TEST_F(SharesTest, WhoMadeANamespaceLeavesItToTheNodeWithFewest) {
    AddPeer("a");
    AddPeer("b");
    AddSeat(0, "a");
    AddSeat(1, nullptr);
    view.seats.back().joined = kNow;

    EXPECT_EQ(CampaignsOf("a").at(1), 1550ms);
    EXPECT_EQ(CampaignsOf("b").at(1), 0ms);
    view.peers.back().since = kNow - 100ms;
    EXPECT_EQ(CampaignsOf("a").at(1), 1950ms) << "it has just started";
    view.seats.back().joined = kNow - 1min;
    EXPECT_EQ(CampaignsOf("a").at(1), 50ms) << "nobody waits for it where work waits";
    view.peers.pop_back();
    EXPECT_EQ(CampaignsOf("a").at(1), 0ms) << "nobody else could";
}

// scheduler.namespaces: this node has the drivers that one team needs, and serves no other.
TEST_F(SharesTest, ANodeGoesOnlyForWhatItMayLead) {
    AddPeer("a", 10min, {"n1"});
    AddPeer("b");
    AddSeat(0, nullptr);
    AddSeat(1, nullptr);
    AddSeat(2, nullptr);

    EXPECT_FALSE(CampaignsOf("a").contains(0));
    EXPECT_FALSE(CampaignsOf("a").contains(2));
    EXPECT_EQ(CampaignsOf("a").at(1), 0ms) << "it leads fewest by then";
    EXPECT_EQ(CampaignsOf("b").at(0), 0ms);
    EXPECT_EQ(CampaignsOf("b").at(2), 0ms);
}

// Three schedulers are started together. The first one up must not have it all.
TEST_F(SharesTest, ANodeThatStartsLeavesItsCompanionsTimeToStartToo) {
    AddPeer("a");
    AddSeat(0, nullptr);
    AddSeat(1, nullptr);
    view.started = kNow - 500ms;

    EXPECT_EQ(Campaigns().at(0), 0ms) << "the default namespace does not wait";
    EXPECT_EQ(Campaigns().at(1), 1'500ms);
}

TEST_F(SharesTest, WhatWasHandedOverIsLeftToItsSuccessorForAWhile) {
    AddPeer("a");
    AddPeer("b");
    AddSeat(1, nullptr);
    view.leaders.push_back({1, NodeId("b"), {}, 7, 0});
    view.seats[0].open_since = kNow - 1s;
    EXPECT_FALSE(CampaignsOf("a").contains(1));
    EXPECT_EQ(CampaignsOf("b").at(1), 0ms);

    view.seats[0].open_since = kNow - 2s;
    EXPECT_TRUE(CampaignsOf("a").contains(1)) << "it did not come";
    view.seats[0].open_since = kNow - 1s;
    view.peers.pop_back();
    EXPECT_TRUE(CampaignsOf("a").contains(1)) << "it is not even there";
}

// A process was restarted under its own name, or the answer to its campaign was lost.
TEST_F(SharesTest, ATermOfItsOwnIsReplacedAtOnce) {
    AddPeer("a");
    AddPeer("b");
    AddSeat(0, "a");
    AddSeat(1, "b");

    EXPECT_EQ(Campaigns().at(0), 0ms);
    EXPECT_FALSE(Campaigns().contains(1));
}

TEST_F(SharesTest, ALeaderWithTwoMoreHandsOneOver) {
    AddPeer("a");
    AddPeer("b");
    for (int p = 0; p < 3; ++p) AddSeat(Partition(p), "a");
    AddSeat(3, "b");

    ASSERT_TRUE(Hand());
    EXPECT_EQ(Hand()->partition, 2) << "the default namespace stays";
    EXPECT_EQ(Hand()->to.view(), "b");

    AddSeat(4, "b");
    EXPECT_FALSE(Hand()) << "one more is even";
}

TEST_F(SharesTest, ItGoesToTheNodeWithFewest) {
    AddPeer("a");
    AddPeer("b");
    AddPeer("c");
    for (int p = 0; p < 6; ++p) AddSeat(Partition(p), "a");
    AddSeat(6, "b");

    EXPECT_EQ(Hand()->to.view(), "c");
}

// A machine that reboots again and again, and everything that was moved lately, moves nothing.
TEST_F(SharesTest, NothingMovesTooOftenOrToAPasserBy) {
    AddPeer("a");
    AddPeer("b", 59s);
    for (int p = 0; p < 4; ++p) AddSeat(Partition(p), "a");
    EXPECT_FALSE(Hand()) << "it has just come";
    view.peers[1].since = kNow - 60s;
    EXPECT_FALSE(Hand(2999ms)) << "one was handed over a moment ago";
    EXPECT_TRUE(Hand(3s));
    view.peers[1].since = kNow - 10min;
    for (Seat& seat : view.seats) seat.led_since = kNow - 299s;
    EXPECT_FALSE(Hand()) << "it got them only now";
    view.seats[1].led_since = kNow - 300s;
    EXPECT_EQ(Hand()->partition, 1);
}

// The last one to be moved is in no hurry.
TEST_F(SharesTest, NearlyEvenTheLeadMovesSlowly) {
    AddPeer("a");
    AddPeer("b");
    for (int p = 0; p < 2; ++p) AddSeat(Partition(p), "a");

    EXPECT_FALSE(Hand(9999ms));
    EXPECT_TRUE(Hand(10s));
}

// A node that came later than the lead has no part of it yet: it need not wait until that is old.
TEST_F(SharesTest, WhatWasGotBeforeANodeCameIsSharedWithItSoon) {
    AddPeer("a");
    AddPeer("b", 61s);
    for (int p = 0; p < 4; ++p) AddSeat(Partition(p), "a", 62s);
    EXPECT_TRUE(Hand());

    for (Seat& seat : view.seats) seat.led_since = kNow - 60s;
    EXPECT_FALSE(Hand()) << "it was there when the lead was taken";
}

TEST_F(SharesTest, NothingIsHandedToWhoMayNotLeadIt) {
    AddPeer("a");
    AddPeer("b", 10min, {"n1"});
    for (int p = 0; p < 4; ++p) AddSeat(Partition(p), "a");

    EXPECT_EQ(Hand()->partition, 1);
    view.peers[1].row.namespaces = {"other"};
    EXPECT_FALSE(Hand());
}

}  // namespace
}  // namespace takt::internal
