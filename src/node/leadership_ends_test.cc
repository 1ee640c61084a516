// Leadership: how a term ends, for another node's or for a later one of its own.
#include "node/leadership_fixture.h"

namespace takt::internal {
namespace {

TEST_F(LeadershipTest, ATermThatIsNotAmongTheLeadersAnyMoreIsOver) {
    Win();
    PassWell(1s, {RowOf("a", kTerm)});
    EXPECT_EQ(deposed, 0);
    PassWell(1s, {RowOf("b", {0, 8, 100})});

    EXPECT_EQ(deposed, 1);
    EXPECT_EQ(why, "another node leads: b");
    ASSERT_TRUE(leadership->leader());
    EXPECT_EQ(leadership->leader()->address, "http://b");
    EXPECT_TRUE(store.acquires.empty());
}

// Somebody deleted the rows. Nobody leads, and the node begins anew above what it had.
TEST_F(LeadershipTest, AfterALostTermTheNextIsAboveIt) {
    Win();
    PassWell(2s, {});
    EXPECT_EQ(deposed, 1);

    ASSERT_EQ(store.acquires.size(), 1u);
    EXPECT_GE(store.acquires.front().first.epoch_floor, kTerm.epoch);
    EXPECT_FALSE(store.acquires.front().first.replaced);
}

// A read that was under way when the term began does not show it.
TEST_F(LeadershipTest, AReadFromBeforeTheTermDoesNotEndIt) {
    StartCampaign();
    runtime.Pass(700ms);
    ASSERT_EQ(store.leaders.size(), 1u);
    Answer(store.acquires, Result<Term>(kTerm));
    Answer(store.leaders, Result<std::vector<LeaderRow>>());

    EXPECT_EQ(deposed, 0);
    EXPECT_TRUE(leadership->term());
}

// The node slept through its own election. What it reads then shows a term of its own that it does not
// hold; it takes another.
TEST_F(LeadershipTest, ATermWhoseAnswerCameTooLateIsNotTaken) {
    StartCampaign();
    runtime.Sleep(9s);
    Answer(store.acquires, Result<Term>(kTerm));
    EXPECT_EQ(elected, 0);
    EXPECT_FALSE(leadership->trusted());

    PassWell(1s, {RowOf("a", kTerm)});
    ASSERT_EQ(store.acquires.size(), 1u);
    ASSERT_TRUE(store.acquires.front().first.replaced);
    EXPECT_TRUE(store.acquires.front().first.replaced->Is(kTerm));
    EXPECT_FALSE(leadership->leader()) << "nobody leads";
}

TEST_F(LeadershipTest, AFollowerLearnsWhoLeadsAndWaits) {
    Start();
    Announced();
    PassWell(5s, {RowOf("b", {0, 12, 1})});
    ASSERT_TRUE(leadership->leader());
    EXPECT_EQ(leadership->leader()->address, "http://b");
    EXPECT_TRUE(store.acquires.empty());

    LeaderRow gone = RowOf("b", {0, 12, 1});
    gone.announced = false;
    PassWell(1s, {gone});
    ASSERT_EQ(store.acquires.size(), 1u);
    EXPECT_EQ(store.acquires.front().first.epoch_floor, 12u);
    EXPECT_TRUE(store.acquires.front().first.replaced->Is({0, 12, 1}));
    EXPECT_FALSE(leadership->leader());
}

// A worker comes back from a store that lost its last writes, or from a restored one: it has seen a
// later term than this. A leader below that would be refused by it for ever.
TEST_F(LeadershipTest, ALeaderThatIsToldOfALaterTermBeginsAnewAboveIt) {
    Win();
    PassWell(1s, {RowOf("a", kTerm)});
    leadership->NoteEpoch(7);
    EXPECT_EQ(deposed, 0) << "its own is no later one";
    leadership->NoteEpoch(40);
    runtime.Run();

    EXPECT_EQ(deposed, 1);
    ASSERT_EQ(store.acquires.size(), 1u) << "at once";
    EXPECT_EQ(store.acquires.front().first.epoch_floor, 40u);
    EXPECT_TRUE(store.acquires.front().first.replaced->Is(kTerm));
    EXPECT_TRUE(store.resigns.empty()) << "nobody else should take it meanwhile";
    Answer(store.acquires, Result<Term>(Term{0, 41, 100}));
    EXPECT_EQ(elected, 2);
    PassWell(1s, {RowOf("a", {0, 41, 100})});
    EXPECT_EQ(deposed, 1);
}

// One worker's token, in bad hands, claims a later term twenty times a second.
TEST_F(LeadershipTest, LaterTermsAreBegunForAFewOfThoseWhoClaimThemOnly) {
    Win();
    std::uint64_t epoch = kTerm.epoch;
    const auto claim = [&] {
        leadership->NoteEpoch(epoch + 1'000);
        runtime.Run();
        if (store.acquires.empty()) return;
        epoch += 1'001;
        Answer(store.acquires, Result<Term>(Term{0, epoch, 100}));
    };
    for (int i = 0; i < 20; ++i) claim();
    EXPECT_EQ(deposed, 3);
    for (int i = 0; i < 60; ++i) PassWell(1s, {RowOf("a", {0, epoch, 100})});
    claim();
    EXPECT_EQ(deposed, 4) << "a minute later there may be a reason";
}

// A rolling update: the next node should not have to wait for the ttl.
TEST_F(LeadershipTest, ResigningTellsTheStoreAndEndsTheCampaign) {
    Win();
    bool done = false;
    leadership->Resign([&] { done = true; });
    ASSERT_EQ(store.resigns.size(), 1u);
    EXPECT_EQ(store.resigns.front().first.first, kTerm);
    EXPECT_FALSE(leadership->trusted());
    Answer(store.resigns, Result<void>());
    EXPECT_TRUE(done);
    PassWell(10s, {});

    EXPECT_TRUE(store.acquires.empty());
    EXPECT_EQ(deposed, 0);
}

TEST_F(LeadershipTest, ANodeElectedWhileItResignsGivesTheTermBack) {
    StartCampaign();
    leadership->Resign([] {});
    Answer(store.acquires, Result<Term>(kTerm));

    EXPECT_EQ(elected, 0);
    EXPECT_EQ(store.resigns.size(), 1u);
}

// The row still says that this node leads while the store is being told that it does not. It must not
// take back what it is giving away.
TEST_F(LeadershipTest, WhatIsHandedOverIsNotTakenBack) {
    Win();
    PassWell(1s, {RowOf("a", kTerm)});
    leadership->HandOver(NodeId("b"));
    EXPECT_EQ(deposed, 1);
    ASSERT_EQ(store.resigns.size(), 1u);
    EXPECT_EQ(store.resigns.front().first.second.view(), "b");
    PassWell(2s, {RowOf("a", kTerm)});
    EXPECT_TRUE(store.acquires.empty());

    Answer(store.resigns, Result<void>(Fail(ErrorCode::kUnavailable, "no route")));
    PassWell(1s, {RowOf("a", kTerm)});
    EXPECT_EQ(store.acquires.size(), 1u) << "it could not be given away, and nobody leads";
}

// A namespace's loop is stuck in a handler of an embedding program, while the loop that announces the
// process is well. Its lead goes to others all the same.
TEST_F(LeadershipTest, ALoopThatHangsLosesItsLead) {
    DrivenRuntime other;  // The presence's own loop.
    Presence apart(other, store, PresenceConfig{.row = {.node = NodeId("a")}}, SeedOf(2));
    auto trust = std::make_shared<Trust>();
    apart.Join({.partition = 0, .name = "default", .tell = [](const Standing&) {}, .trust = trust});
    apart.Start();
    const auto pass = [&](Duration time) {
        for (; time > Duration(0); time -= 100ms) {
            other.Pass(100ms);
            while (!store.announces.empty()) DrivenStore::Reply(store.announces, Result<void>());
            while (!store.leaders.empty()) {
                DrivenStore::Reply(store.leaders,
                                   Result<std::vector<LeaderRow>>({RowOf("a", kTerm)}));
            }
            other.Run();
        }
    };
    pass(9s);
    EXPECT_GT(trust->Until(kTerm), other.Now().steady);
    EXPECT_TRUE(store.resigns.empty());
    pass(3s);

    ASSERT_FALSE(store.resigns.empty());
    EXPECT_EQ(store.resigns.front().first.first, kTerm);
}

// The process is on its way out, and the store's thread still has an answer for it.
TEST_F(LeadershipTest, AnAnswerAfterItIsGoneIsDropped) {
    StartCampaign();
    leadership.reset();
    Answer(store.acquires, Result<Term>(kTerm));

    EXPECT_EQ(elected, 0);
}

}  // namespace
}  // namespace takt::internal
