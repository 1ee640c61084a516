// Leadership and Presence: a term that is trusted no longer than it can be.
#include "node/leadership.h"

#include "base/log.h"
#include "node/driven.h"

namespace takt::internal {
namespace {

class LeadershipTest : public ::testing::Test {
  protected:
    static constexpr Term kTerm{0, 7, 99};

    LeadershipTest() {
        store.presence_by_hand = true;
        Make();
    }
    ~LeadershipTest() override {
        leadership.reset();
        runtime.Run();
    }

    void Make() {
        presence = std::make_unique<Presence>(
            runtime, store, PresenceConfig{.row = {.node = NodeId("a"), .address = "http://a"}},
            SeedOf(1));
        leadership = std::make_unique<Leadership>(
            runtime, store, *presence, Partition(0), "default",
            Leadership::Events{.on_elected = [this](const Term&) { ++elected; },
                               .on_deposed =
                                   [this](const std::string& reason) {
                                       ++deposed;
                                       why = reason;
                                   },
                               .on_change = [this] { ++changes; },
                               .on_hand_over = [this](const NodeId& to) { heir = to; }});
    }

    void Start() {
        leadership->Start();
        presence->Start();
        runtime.Run();
    }
    static LeaderRow RowOf(const char* node, const Term& term) {
        return {term.partition, NodeId(node), Text(std::string("http://") + node), term.epoch,
                term.nonce};
    }
    // Announced, and nobody leads: the node campaigns.
    void StartCampaign() {
        Start();
        Announced();
        Read({});
        runtime.Pass(1ms);
        ASSERT_EQ(store.acquires.size(), 1u);
    }
    void Win() {
        StartCampaign();
        Answer(store.acquires, Result<Term>(kTerm));
        ASSERT_EQ(elected, 1);
    }
    void Announced() {
        Answer(store.announces, Result<void>());
        while (!store.nodes.empty()) Answer(store.nodes, Result<std::vector<NodeRow>>());
    }
    // The reads under way are answered so; one that began earlier may be among them.
    void Read(const std::vector<LeaderRow>& rows) {
        for (int i = 0; i < 2 && store.leaders.empty(); ++i) runtime.Pass(700ms);
        while (!store.leaders.empty()) {
            Answer(store.leaders, Result<std::vector<LeaderRow>>(rows));
        }
    }
    template <typename Questions, typename T>
    void Answer(Questions& questions, Result<T> answer) {
        DrivenStore::Reply(questions, std::move(answer));
        runtime.Run();
    }
    // Time passes in which the store answers everything, with these rows.
    void PassWell(Duration time, const std::vector<LeaderRow>& rows) {
        for (; time > Duration(0); time -= 100ms) {
            runtime.Pass(100ms);
            while (!store.announces.empty()) Announced();
            while (!store.leaders.empty()) {
                Answer(store.leaders, Result<std::vector<LeaderRow>>(rows));
            }
        }
    }

    static std::size_t Count(const LogCapture& log, std::string_view text) {
        return static_cast<std::size_t>(std::ranges::count_if(
            log.lines(), [&](const std::string& line) { return line.contains(text); }));
    }

    LogCapture log;
    DrivenRuntime runtime;
    DrivenStore store;
    std::unique_ptr<Presence> presence;
    std::unique_ptr<Leadership> leadership;
    int elected = 0;
    int deposed = 0;
    int changes = 0;
    std::string why;
    NodeId heir;
};

TEST_F(LeadershipTest, ATermIsTrustedFromBeforeTheAnnouncementForTheTtlLessTheMargin) {
    Start();
    runtime.Pass(2s);  // The answer takes its time.
    Announced();
    Read({});
    runtime.Pass(1ms);
    Answer(store.acquires, Result<Term>(kTerm));
    ASSERT_EQ(elected, 1);
    runtime.Sleep(6'998ms);
    EXPECT_TRUE(leadership->trusted());
    runtime.Sleep(1ms);

    EXPECT_FALSE(leadership->trusted()) << "10 s of ttl, 1 s of margin, 2 s already gone";
}

// A node that nobody knows of has no term that could stand.
TEST_F(LeadershipTest, NobodyCampaignsBeforeItIsAnnounced) {
    Start();
    Read({});
    runtime.Pass(1s);

    EXPECT_TRUE(store.acquires.empty());
}

// The store is unreachable: the leader must step down by itself before anybody else is elected.
TEST_F(LeadershipTest, ALeaderThatCannotBeAnnouncedStepsDownWhenItsTrustEnds) {
    Win();
    runtime.Pass(8'998ms);
    EXPECT_EQ(deposed, 0);
    runtime.Pass(2ms);

    EXPECT_EQ(deposed, 1);
    EXPECT_FALSE(leadership->term());
}

// Redis has too few replicas and refuses every write. Nobody leads, and the log and the status say
// why, once, not three times a second.
TEST_F(LeadershipTest, WhyNobodyLeadsIsSaidOncePerCause) {
    Start();
    for (int i = 0; i < 5; ++i) {
        Answer(store.announces, Result<void>(Fail(ErrorCode::kUnavailable, "NOREPLICAS")));
        Read({});
        runtime.Pass(1s);
    }
    EXPECT_EQ(leadership->trouble(), "NOREPLICAS");
    EXPECT_EQ(Count(log, "the store cannot be asked for the lead"), 1u);
    EXPECT_EQ(changes, 1);
    Announced();
    Read({RowOf("b", {0, 3, 4})});
    EXPECT_EQ(leadership->trouble(), "");
    EXPECT_EQ(Count(log, "the store can be asked for the lead again"), 1u);
}

// It is announced, and still cannot lead: the disk is full.
TEST_F(LeadershipTest, WhyTheLeadIsNotGivenIsSaidOncePerCause) {
    StartCampaign();
    for (int i = 0; i < 5; ++i) {
        Answer(store.acquires, Result<Term>(Fail(ErrorCode::kUnavailable, "full")));
        EXPECT_EQ(leadership->trouble(), "full");
        PassWell(1s, {});
    }
    EXPECT_EQ(Count(log, "the store does not give the lead"), 1u);
    Answer(store.acquires, Result<Term>(kTerm));
    EXPECT_EQ(leadership->trouble(), "");
}

// The same while it leads: that the lead is about to be lost is known before, and why afterwards.
TEST_F(LeadershipTest, WhyTheLeadCannotBeRenewedIsSaid) {
    Win();
    PassWell(2s, {RowOf("a", kTerm)});
    for (int i = 0; i < 200 && deposed == 0; ++i) {
        runtime.Pass(100ms);
        if (store.announces.empty()) continue;
        Answer(store.announces, Result<void>(Fail(ErrorCode::kUnavailable, "NOREPLICAS")));
    }
    EXPECT_EQ(Count(log, "the lead cannot be renewed"), 1u);
    EXPECT_EQ(deposed, 1);
    EXPECT_EQ(why, "the lease could not be renewed in time: NOREPLICAS");
}

// Every announcement prolongs the trust in what is still seen to be led, from when it was asked.
TEST_F(LeadershipTest, AnAnnouncementProlongsTheTrustInWhatIsSeenAfterIt) {
    Win();
    runtime.Pass(4s);
    ASSERT_EQ(store.announces.size(), 1u);
    const Steady began = runtime.Now().steady;
    Announced();
    EXPECT_LT(presence->announced_until() - began, 9s);
    const Duration left =
        std::chrono::floor<Duration>(presence->announced_until() - runtime.Now().steady);
    Read({RowOf("a", kTerm)});
    Read({RowOf("a", kTerm)});
    const Steady now = runtime.Now().steady;
    runtime.Sleep(left - std::chrono::floor<Duration>(now - began) - 1ms);
    EXPECT_TRUE(leadership->trusted());
    runtime.Sleep(2ms);
    EXPECT_FALSE(leadership->trusted());
}

// The node was not announced for a while, and is again. Whether the term was taken meanwhile only a
// read that began after that can tell.
TEST_F(LeadershipTest, AReadFromBeforeTheAnnouncementProlongsNothing) {
    Win();
    runtime.Pass(700ms);
    ASSERT_EQ(store.leaders.size(), 1u);
    auto early = std::move(store.leaders.front());
    store.leaders.pop_front();
    runtime.Pass(4s);
    Announced();
    early(Result<std::vector<LeaderRow>>({RowOf("a", kTerm)}));
    runtime.Run();
    store.leaders.clear();
    runtime.Pass(5s);

    EXPECT_EQ(deposed, 1);
}

// One answer is lost; the next one saves the term.
TEST_F(LeadershipTest, ALostAnnouncementIsMadeAgainWhileThereIsTrust) {
    Win();
    PassWell(4s, {RowOf("a", kTerm)});
    for (int i = 0; i < 40 && store.announces.empty(); ++i) {
        runtime.Pass(100ms);
        while (!store.leaders.empty()) Read({RowOf("a", kTerm)});
    }
    Answer(store.announces, Result<void>(Fail(ErrorCode::kUnknown, "no answer")));
    runtime.Pass(300ms);
    ASSERT_EQ(store.announces.size(), 1u) << "a tenth of the interval later";
    Announced();
    PassWell(20s, {RowOf("a", kTerm)});

    EXPECT_EQ(deposed, 0);
    EXPECT_TRUE(leadership->trusted());
}

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
