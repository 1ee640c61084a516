// Leadership: a lease that is trusted no longer than it can be.
#include "node/leadership.h"

#include "base/log.h"
#include "node/driven.h"

namespace takt::internal {
namespace {

class LeadershipTest : public ::testing::Test {
  protected:
    static constexpr Term kTerm{0, 7, 99};

    LeadershipTest() { Make(); }

    void Make() {
        leadership = std::make_unique<Leadership>(
            runtime, store, LeadershipConfig{.node = NodeId("a"), .address = "http://a"}, random,
            Leadership::Events{.on_elected = [this](const Term&) { ++elected; },
                               .on_deposed =
                                   [this](const std::string& reason) {
                                       ++deposed;
                                       why = reason;
                                   },
                               .on_change = [this] { ++changes; }});
    }

    // Campaigns and wins at once.
    void Win() {
        leadership->Start();
        Answer(store.acquires, Result<Term>(kTerm));
    }
    template <typename Questions, typename T>
    void Answer(Questions& questions, Result<T> answer) {
        DrivenStore::Reply(questions, std::move(answer));
        runtime.Run();
    }

    static std::size_t Count(const LogCapture& log, std::string_view text) {
        return static_cast<std::size_t>(std::ranges::count_if(
            log.lines(), [&](const std::string& line) { return line.contains(text); }));
    }

    DrivenRuntime runtime;
    DrivenStore store;
    Random random{SeedOf(1)};
    std::unique_ptr<Leadership> leadership;
    int elected = 0;
    int deposed = 0;
    int changes = 0;
    std::string why;
};

TEST_F(LeadershipTest, ATermIsTrustedFromBeforeTheRequestForTheTtlLessTheMargin) {
    leadership->Start();
    runtime.Pass(2s);  // The answer takes its time.
    Answer(store.acquires, Result<Term>(kTerm));
    ASSERT_EQ(elected, 1);
    runtime.Sleep(6'999ms);
    EXPECT_TRUE(leadership->trusted());
    runtime.Sleep(1ms);

    EXPECT_FALSE(leadership->trusted()) << "10 s of ttl, 1 s of margin, 2 s already gone";
}

// The store is unreachable: the leader must step down by itself before anybody else is elected.
TEST_F(LeadershipTest, ALeaderThatCannotRenewStepsDownWhenItsTrustEnds) {
    Win();
    runtime.Pass(3s);
    Answer(store.renews, Result<void>(Fail(ErrorCode::kUnavailable, "no route")));
    runtime.Pass(5'999ms);
    EXPECT_EQ(deposed, 0);
    runtime.Pass(1ms);

    EXPECT_EQ(deposed, 1);
    EXPECT_FALSE(leadership->term());
}

// Redis has too few replicas and refuses every write. Nobody leads, and the log and the status say
// why, once, not twice a second.
TEST_F(LeadershipTest, WhyNobodyLeadsIsSaidOncePerCause) {
    const LogCapture log;
    leadership->Start();
    for (int i = 0; i < 5; ++i) {
        Answer(store.acquires, Result<Term>(Fail(ErrorCode::kUnavailable, "NOREPLICAS")));
        runtime.Pass(1s);
    }
    EXPECT_EQ(leadership->trouble(), "NOREPLICAS");
    EXPECT_EQ(Count(log, "the store cannot be asked for the lead"), 1u);
    EXPECT_EQ(changes, 1);
    Answer(store.acquires, Result<Term>(Fail(ErrorCode::kConflict, "b leads")));
    EXPECT_EQ(leadership->trouble(), "");
    EXPECT_EQ(Count(log, "the store can be asked for the lead again"), 1u);
    EXPECT_EQ(changes, 2);
}

// The same while it leads: that the lead is about to be lost is known before, and why afterwards.
TEST_F(LeadershipTest, WhyTheLeadCannotBeRenewedIsSaid) {
    const LogCapture log;
    Win();
    runtime.Pass(3s);
    Answer(store.renews, Result<void>(Fail(ErrorCode::kUnavailable, "NOREPLICAS")));
    runtime.Pass(300ms);
    Answer(store.renews, Result<void>(Fail(ErrorCode::kUnavailable, "NOREPLICAS")));
    EXPECT_EQ(leadership->trouble(), "NOREPLICAS");
    EXPECT_EQ(Count(log, "the lead cannot be renewed"), 1u);
    runtime.Pass(10s);
    EXPECT_EQ(deposed, 1);
    EXPECT_EQ(why, "the lease could not be renewed in time: NOREPLICAS");
}

TEST_F(LeadershipTest, ARenewalProlongsTheTrustFromWhenItWasAsked) {
    Win();
    runtime.Pass(3s);
    ASSERT_EQ(store.renews.size(), 1u);
    runtime.Pass(2s);
    Answer(store.renews, Result<void>());
    runtime.Sleep(6'999ms);
    EXPECT_TRUE(leadership->trusted());
    runtime.Sleep(1ms);
    EXPECT_FALSE(leadership->trusted());
}

// The answer to one renewal is lost; the next one saves the term.
TEST_F(LeadershipTest, ALostRenewalIsAskedAgainWhileThereIsTrust) {
    Win();
    runtime.Pass(3s);
    Answer(store.renews, Result<void>(Fail(ErrorCode::kUnknown, "no answer")));
    runtime.Pass(300ms);
    ASSERT_EQ(store.renews.size(), 1u) << "a tenth of the interval later";
    runtime.Pass(2'700ms);
    Answer(store.renews, Result<void>());
    runtime.Pass(2'900ms);

    EXPECT_EQ(deposed, 0);
    EXPECT_TRUE(leadership->trusted());
}

TEST_F(LeadershipTest, AFencedRenewalEndsTheTermAtOnceAndTheNodeCampaignsAgain) {
    Win();
    runtime.Pass(3s);
    Answer(store.renews, Result<void>(Fail(ErrorCode::kFenced, "b leads")));
    EXPECT_EQ(deposed, 1);
    runtime.Pass(1s);

    ASSERT_EQ(store.acquires.size(), 1u);
    EXPECT_GE(store.acquires.front().first.epoch_floor, kTerm.epoch);
}

// The node slept through its own election.
TEST_F(LeadershipTest, ATermWhoseAnswerCameTooLateIsNotTaken) {
    leadership->Start();
    runtime.Sleep(9s);
    Answer(store.acquires, Result<Term>(kTerm));

    EXPECT_EQ(elected, 0);
    EXPECT_FALSE(leadership->trusted());
}

// An answer to a renewal of the term before must not prolong the term of now.
TEST_F(LeadershipTest, ALateAnswerOfAnEarlierTermChangesNothing) {
    Win();
    runtime.Pass(3s);
    auto late = std::move(store.renews.front());
    store.renews.pop_front();
    leadership->Fenced("a commit was refused");
    runtime.Pass(1s);
    Answer(store.acquires, Result<Term>(Term{0, 8, 100}));
    ASSERT_EQ(elected, 2);
    late.second(Fail(ErrorCode::kFenced, "over"));
    runtime.Run();

    EXPECT_EQ(deposed, 1);
    EXPECT_TRUE(leadership->term());
}

TEST_F(LeadershipTest, AFollowerLearnsWhoLeadsAndAsksAgain) {
    leadership->Start();
    Answer(store.acquires, Result<Term>(Fail(ErrorCode::kConflict, "b leads")));
    Answer(store.leaders, Result<std::optional<LeaderRow>>(LeaderRow{NodeId("b"), "http://b", 12}));
    ASSERT_TRUE(leadership->leader());
    EXPECT_EQ(leadership->leader()->address, "http://b");
    runtime.Pass(1s);

    ASSERT_EQ(store.acquires.size(), 1u);
    EXPECT_EQ(store.acquires.front().first.epoch_floor, 12u);
}

// A rolling update: the next node should not have to wait for the ttl.
TEST_F(LeadershipTest, ResigningTellsTheStoreAndEndsTheCampaign) {
    Win();
    bool done = false;
    leadership->Resign([&] { done = true; });
    ASSERT_EQ(store.resigns.size(), 1u);
    EXPECT_EQ(store.resigns.front().first, kTerm);
    EXPECT_FALSE(leadership->trusted());
    Answer(store.resigns, Result<void>());
    EXPECT_TRUE(done);
    runtime.Pass(1min);

    EXPECT_TRUE(store.acquires.empty());
    EXPECT_EQ(deposed, 0);
}

TEST_F(LeadershipTest, ANodeElectedWhileItResignsGivesTheTermBack) {
    leadership->Start();
    leadership->Resign([] {});
    Answer(store.acquires, Result<Term>(kTerm));

    EXPECT_EQ(elected, 0);
    EXPECT_EQ(store.resigns.size(), 1u);
}

// The process is on its way out, and the store's thread still has an answer for it.
TEST_F(LeadershipTest, AnAnswerAfterItIsGoneIsDropped) {
    Win();
    runtime.Pass(3s);
    leadership.reset();
    Answer(store.renews, Result<void>());

    EXPECT_EQ(deposed, 0);
}

}  // namespace
}  // namespace takt::internal
