// Leadership and Presence: a term that is trusted no longer than it can be.
#include "node/leadership_fixture.h"

namespace takt::internal {
namespace {

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

// A worker of another namespace has claimed to have seen a late term there: that is nothing to this
// one.
TEST_F(LeadershipTest, TermsOfOtherPartitionsDoNotRaiseTheEpoch) {
    Start();
    Announced();
    Read({RowOf("b", {0, 3, 0}), RowOf("b", {5, 41, 0})});
    runtime.Pass(1ms);

    ASSERT_EQ(store.acquires.size(), 1u);
    EXPECT_LE(store.acquires.front().first.epoch_floor, 3u);
}

// A namespace was deleted and is made again under another number. Whoever kept the highest lock token
// of the first must not take those of the second for old ones.
TEST_F(LeadershipTest, AnEpochIsAboveTheFloorOfItsNamespace) {
    Start();
    leadership->NoteEpoch(41);
    Announced();
    Read({RowOf("b", {0, 3, 0})});
    runtime.Pass(1ms);

    ASSERT_EQ(store.acquires.size(), 1u);
    EXPECT_EQ(store.acquires.front().first.epoch_floor, 41u);
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

// A failover went to a replica that was behind, or Redis was restarted without its disk. Whoever led is
// gone, and another node is elected: those who had seen the later term say what nobody else can.
TEST_F(LeadershipTest, AStoreThatKnowsFewerTermsThanWereReadHasLostSome) {
    using Losses = decltype(losses);
    Start();
    Announced();
    PassWell(2s, {RowOf("b", {0, 12, 1})});
    EXPECT_EQ(losses, Losses{});
    PassWell(2s, {RowOf("b", {0, 9, 1})});
    EXPECT_EQ(losses, (Losses{{12, 9}})) << "once";
    PassWell(2s, {});
    EXPECT_EQ(losses, (Losses{{12, 9}, {9, 0}}));
    ASSERT_EQ(store.acquires.size(), 1u);
    EXPECT_EQ(store.acquires.front().first.epoch_floor, 12u);
    Answer(store.acquires, Result<Term>(Term{0, 13, 100}));
    PassWell(2s, {RowOf("a", {0, 13, 100})});
    EXPECT_EQ(losses.size(), 2u);
}

// The answer that an earlier read gets after the election shows the term before.
TEST_F(LeadershipTest, AReadFromBeforeATermWasWonShowsNoLoss) {
    StartCampaign();
    runtime.Pass(1s);
    ASSERT_FALSE(store.leaders.empty());
    Answer(store.acquires, Result<Term>(kTerm));
    Answer(store.leaders, Result<std::vector<LeaderRow>>({RowOf("b", {0, 6, 0})}));
    PassWell(2s, {RowOf("a", kTerm)});

    EXPECT_TRUE(losses.empty());
    EXPECT_EQ(deposed, 0);
}

}  // namespace
}  // namespace takt::internal
