// Presence: one process that announces itself for all of its partitions.
#include "node/presence.h"

#include <algorithm>

#include "base/failpoint.h"
#include "base/log.h"
#include "node/driven.h"

namespace takt::internal {
namespace {

// A namespace's loop is stuck in a handler of an embedding program, while the loop that announces the
// process is well. Its lead goes to others all the same.
TEST(PresenceTest, ALoopThatHangsLosesItsLead) {
    constexpr Term kTerm{0, 7, 99};
    const LogCapture quiet;
    DrivenStore store;
    store.presence_by_hand = true;
    DrivenRuntime loop;  // The presence's own.
    Presence presence(loop, store, PresenceConfig{.row = {.node = NodeId("a")}}, SeedOf(2));
    auto trust = std::make_shared<Trust>();
    presence.Join(
        {.partition = 0, .name = "default", .tell = [](const Standing&) {}, .trust = trust});
    presence.Start();
    const auto pass = [&](Duration time) {
        for (; time > Duration(0); time -= 100ms) {
            loop.Pass(100ms);
            while (!store.announces.empty()) DrivenStore::Reply(store.announces, Result<void>());
            while (!store.leaders.empty()) {
                DrivenStore::Reply(store.leaders,
                                   Result<std::vector<LeaderRow>>({{0, NodeId("a"), {}, 7, 99}}));
            }
            loop.Run();
        }
    };
    pass(9s);
    EXPECT_GT(trust->Until(kTerm), loop.Now().steady);
    EXPECT_TRUE(store.resigns.empty());
    pass(3s);

    ASSERT_FALSE(store.resigns.empty());
    EXPECT_EQ(store.resigns.front().first.first, kTerm);
}

// A namespace was let go while its leader was paused: the term stands in the store, and this process
// keeps it alive by being announced. It is ended, not left for ever; one that is served soon is not.
TEST(PresenceTest, ATermThatNobodyHoldsIsEnded) {
    const LogCapture quiet;
    DrivenStore store;
    store.presence_by_hand = true;
    DrivenRuntime loop;
    Presence presence(loop, store, PresenceConfig{.row = {.node = NodeId("a")}}, SeedOf(2));
    presence.Start();
    const auto pass = [&](Duration time) {
        for (; time > Duration(0); time -= 100ms) {
            loop.Pass(100ms);
            while (!store.announces.empty()) DrivenStore::Reply(store.announces, Result<void>());
            while (!store.leaders.empty()) {
                DrivenStore::Reply(store.leaders,
                                   Result<std::vector<LeaderRow>>({{3, NodeId("a"), {}, 7, 99},
                                                                   {4, NodeId("a"), {}, 8, 98},
                                                                   {5, NodeId("b"), {}, 9, 97}}));
            }
            loop.Run();
        }
    };
    pass(5s);
    presence.Join({.partition = 4, .name = "soon", .tell = [](const Standing&) {}});
    pass(4s);
    EXPECT_TRUE(store.resigns.empty());
    pass(3s);

    ASSERT_EQ(store.resigns.size(), 1u) << "not at each look";
    EXPECT_EQ(store.resigns.front().first.first, (Term{3, 7, 99}));
    EXPECT_EQ(
        std::ranges::count_if(quiet.lines(),
                              [](const std::string& line) { return line.contains("it is ended"); }),
        1);
    presence.Part(4);
    loop.Run();
}

// Two schedulers of three are on a machine that fails: one led, and the other, which led nothing, would
// be the next. The third does not wait for it once it is seen to be gone too.
TEST(PresenceTest, ANodeThatIsGoneTakesNothingOfThePlan) {
    const LogCapture quiet;
    DrivenStore store;
    store.presence_by_hand = true;
    DrivenRuntime loop;
    Presence presence(loop, store, PresenceConfig{.row = {.node = NodeId("z")}}, SeedOf(2));
    std::optional<Duration> campaign;
    presence.Join({.partition = 0, .name = "default", .tell = [&](const Standing& standing) {
                       campaign = standing.campaign;
                   }});
    presence.Start();
    const auto answer = [&](bool announced, std::vector<NodeRow> nodes) {
        loop.Run();
        while (!store.announces.empty()) DrivenStore::Reply(store.announces, Result<void>());
        loop.Run();
        while (!store.nodes.empty()) {
            DrivenStore::Reply(store.nodes, Result<std::vector<NodeRow>>(nodes));
        }
        loop.Run();
        while (!store.leaders.empty()) {
            LeaderRow row{0, NodeId("a"), {}, 7, 99};
            row.announced = announced;
            DrivenStore::Reply(store.leaders, Result<std::vector<LeaderRow>>({row}));
        }
        loop.Run();
    };
    for (int i = 0; i < 3; ++i) {
        answer(true, {{.node = NodeId("a")}, {.node = NodeId("c")}, {.node = NodeId("z")}});
    }
    loop.Pass(1s);
    answer(false, {{.node = NodeId("c")}, {.node = NodeId("z")}});
    ASSERT_TRUE(campaign);
    EXPECT_GT(*campaign, 600ms) << "the plan gives it to c";

    answer(false, {{.node = NodeId("z")}});

    EXPECT_EQ(campaign, Duration(0));
}

// Four namespaces lose their leader. This one has the first of its half, and reads before the store has
// answered for the second: what is the other's stays so.
TEST(PresenceTest, WhatItGoesForCountsWhileTheStoreHasNotAnswered) {
    const LogCapture quiet;
    ASSERT_TRUE(StartFailPoints());
    DrivenStore store;
    store.presence_by_hand = true;
    DrivenRuntime loop;
    Presence presence(loop, store, PresenceConfig{.row = {.node = NodeId("a")}}, SeedOf(2));
    std::map<Partition, std::optional<Duration>> campaigns;
    for (Partition p = 0; p < 4; ++p) {
        presence.Join({.partition = p,
                       .name = Text("n" + std::to_string(p)),
                       .tell = [&campaigns, p](const Standing& standing) {
                           campaigns[p] = standing.campaign;
                       }});
    }
    presence.Start();
    const auto answer = [&](const std::vector<LeaderRow>& rows) {
        loop.Run();
        while (!store.announces.empty()) DrivenStore::Reply(store.announces, Result<void>());
        loop.Run();
        while (!store.nodes.empty()) {
            DrivenStore::Reply(store.nodes, Result<std::vector<NodeRow>>(
                                                {{.node = NodeId("a")}, {.node = NodeId("b")}}));
        }
        loop.Run();
        while (!store.leaders.empty()) {
            DrivenStore::Reply(store.leaders, Result<std::vector<LeaderRow>>(rows));
        }
        loop.Run();
    };
    const auto led = [](const char* node) {
        std::vector<LeaderRow> rows;
        for (Partition p = 0; p < 4; ++p) rows.push_back({p, NodeId(node), {}, 1, 1});
        return rows;
    };
    // A node that has just started waits, and so does one with a new namespace.
    for (int i = 0; i < 50; ++i) {
        loop.Pass(100ms);
        answer(led("c"));
    }
    loop.Pass(500ms);
    answer({});
    ASSERT_EQ(campaigns[0], Duration(0));
    ASSERT_EQ(campaigns[2], Duration(0));
    ASSERT_GT(campaigns[1], Duration(0));

    presence.ReadSoon();
    answer({{2, NodeId("a"), {}, 1, 1}});

    EXPECT_EQ(campaigns[0], Duration(0));
    EXPECT_GT(campaigns[1], Duration(0));
    EXPECT_GT(campaigns[3], Duration(0));
}

}  // namespace
}  // namespace takt::internal
