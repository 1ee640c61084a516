// One payload kills whatever process touches it; what was beside it must not be failed for that.
#include "engine/trials.h"

#include "base/failpoint.h"
#include "engine/history.h"

namespace takt::internal {
namespace {

class TrialsTest : public History {
  protected:
    TrialsTest() { config.losses_max = 3; }
    void SetUp() override { ASSERT_TRUE(StartFailPoints()); }

    // The worker's process dies with all it has, and a new one comes in its place.
    void Die(Duration at) {
        At(at, Join({.id = "a", .capacity = 5, .instance = std::to_string(++died)}));
    }
    // Three executions at once on a worker that has died twice with them: all are suspects.
    void MakeSuspects() {
        At(0s, Join({.id = "a", .capacity = 5, .instance = "0"}));
        for (const char* id : {"pay1", "poison", "pay2"}) At(0s, Once({.id = id}));
        Die(1s);
        Die(2s);
        Until(2s + Trials::kForms);
    }
    void Die100(Duration at) {
        At(at, Join({.id = "a", .capacity = 100, .instance = std::to_string(++died)}));
    }
    int died = 0;
};

TEST_F(TrialsTest, SuspectsBeginOneAfterTheOtherAndOnlyTheLastIsBlamed) {
    MakeSuspects();
    EXPECT_EQ(Row("pay1").losses, 2u);
    EXPECT_EQ(Row("pay1").status, Status::kScheduled);
    EXPECT_EQ(Row("poison").status, Status::kPending)
        << "it begins when the first has had its time";
    EXPECT_EQ(CodeOf("poison"), "trial");
    Until(12s + Trials::kForms - 1ms);
    EXPECT_EQ(Row("poison").status, Status::kPending);
    Until(12s + Trials::kForms);
    EXPECT_EQ(Row("poison").status, Status::kScheduled);
    EXPECT_EQ(Row("pay2").status, Status::kPending) << "one at a time";

    Die(13s);
    EXPECT_EQ(StatusOf("poison"), Status::kFailed);
    EXPECT_EQ(Row("poison").outcome->reason, Reason::kWorkerLost);
    EXPECT_EQ(Row("pay1").losses, 2u) << "it was beside the one that is blamed";
    At(40s, Beat("a"));
    At(40s, ReportOf(RefOf("pay1"), "a", true));
    At(40s, ReportOf(RefOf("pay2"), "a", true));
    EXPECT_EQ(StatusOf("pay1"), Status::kSuccess);
    EXPECT_EQ(StatusOf("pay2"), Status::kSuccess);
}

TEST_F(TrialsTest, WhatIsNoSuspectIsNotCountedBesideOneAndDoesNotWait) {
    MakeSuspects();
    At(2s + Trials::kForms, Begun("pay1"));
    At(3500ms, Once({.id = "new"}));
    EXPECT_EQ(Row("new").status, Status::kScheduled);
    At(3500ms, Begun("new"));
    Die(3700ms);
    EXPECT_EQ(StatusOf("pay1"), Status::kFailed) << "the suspect that began last";
    EXPECT_EQ(Row("new").losses, 0u);
    EXPECT_EQ(Row("new").attempt, 2u);
}

TEST_F(TrialsTest, WhatWaitsForItsTrialIsToldItsOwnPlace) {
    MakeSuspects();
    const auto values = [&](const char* id) {
        const auto why = engine().Explain(ExecutionId(Text(id)),
                                          {WallAt(3s), Steady(std::chrono::hours(7)) + 3s});
        return why ? why->sentence : "";
    };
    EXPECT_THAT(values("poison"),
                ::testing::HasSubstr("with 0 before it, at " +
                                     FormatTime(WallAt(12s + Trials::kForms)) + " at"));
    EXPECT_THAT(values("pay2"),
                ::testing::HasSubstr("with 1 before it, at " +
                                     FormatTime(WallAt(22s + Trials::kForms)) + " at"));
}

TEST_F(TrialsTest, TheNextOneDoesNotWaitForASuspectThatHasEnded) {
    MakeSuspects();
    At(3s, Success("pay1"));
    Until(3s);
    EXPECT_EQ(Row("poison").status, Status::kScheduled);
    EXPECT_EQ(Row("pay2").status, Status::kPending) << "one at a time";
    At(4s, Failure("poison"));
    Until(4s);
    EXPECT_EQ(Row("pay2").status, Status::kScheduled);
}

// The supervisor waits longer and longer before it starts the worker again.
TEST_F(TrialsTest, SuspectsThatWaitForAWorkerDoNotBeginTogetherWhenItComes) {
    MakeSuspects();
    At(3s, Set("a", WorkerStatus::kOffline));
    EXPECT_EQ(StatusOf("pay1"), Status::kFailed);
    Until(300s);
    Die(300s);
    Until(300s + Trials::kForms);
    EXPECT_EQ(Row("poison").status, Status::kScheduled);
    EXPECT_EQ(Row("pay2").status, Status::kPending);
    At(305s, Beat("a"));
    Until(310s + Trials::kForms);
    EXPECT_EQ(Row("pay2").status, Status::kScheduled);
}

TEST_F(TrialsTest, ASuspectWhoseTimeToStartIsOverDoesNotWaitForItsTrial) {
    At(0s, Join({.id = "a", .capacity = 5, .instance = "0"}));
    for (const char* id : {"one", "two"}) At(0s, Once({.id = id, .expires_after = 5s}));
    Die(1s);
    Die(2s);
    Until(6s);
    EXPECT_EQ(StatusOf("two"), Status::kFailed);
    EXPECT_EQ(Row("two").outcome->reason, Reason::kExpired);
}

TEST_F(TrialsTest, WhereOneLossIsEnoughEverythingBeginsAtOnce) {
    config.losses_max = 1;
    At(0s, Join({.id = "a", .capacity = 5, .instance = "0"}));
    At(0s, Once({.id = "one"}));
    At(0s, Once({.id = "two"}));
    EXPECT_EQ(Row("one").status, Status::kScheduled);
    EXPECT_EQ(Row("two").status, Status::kScheduled);
    Die(1s);
    EXPECT_EQ(StatusOf("one"), Status::kFailed);
    EXPECT_EQ(StatusOf("two"), Status::kFailed);
}

// The payload reads a file for half a minute and then takes all memory. What has begun beside it,
// before and after, is not what the worker dies of.
TEST_F(TrialsTest, APayloadThatKillsAfterAWhileIsFoundByHowLongItTakes) {
    const auto begin = [&](Duration at, const char* id) {
        Until(at);
        ASSERT_EQ(Row(id).status, Status::kScheduled) << id;
        At(at, Begun(id));
    };
    At(0s, Join({.id = "a", .capacity = 5, .instance = "0"}));
    for (const char* id : {"pay1", "poison", "pay2", "pay3"}) At(0s, Once({.id = id}));
    for (const Duration round : {0s, 30s}) {
        for (const char* id : {"pay1", "poison", "pay2", "pay3"}) begin(round, id);
        for (Duration at = 5s; at < 30s; at += 5s) At(round + at, Beat("a"));
        Die(round + 30s);
    }
    begin(60s + Trials::kForms, "pay1");
    At(65s, Beat("a"));
    begin(70s + Trials::kForms, "poison");
    At(75s, Beat("a"));
    begin(80s + Trials::kForms, "pay2");
    At(85s, Beat("a"));
    begin(90s + Trials::kForms, "pay3");
    At(95s, Beat("a"));
    Die(100s);

    EXPECT_EQ(StatusOf("poison"), Status::kFailed);
    for (const char* id : {"pay1", "pay2", "pay3"}) EXPECT_EQ(Row(id).losses, 2u) << id;
}

// The leader changes while suspects run: what it has stored says which of them began last.
TEST_F(TrialsTest, TheNextLeaderKnowsWhichSuspectBeganLast) {
    At(0s, Join({.id = "a", .capacity = 5, .instance = "0"}));
    At(0s, Once({.id = "first"}));
    At(0s, Once({.id = "poison", .priority = 1}));
    At(0s, Once({.id = "pay", .priority = 8}));
    Die(1s);
    Die(2s);
    Duration at = 2s + Trials::kForms;
    for (const char* id : {"pay", "first", "poison"}) {
        Until(at);
        ASSERT_EQ(Row(id).status, Status::kScheduled) << id;
        At(at, Begun(id));
        At(at + 500ms, Beat("a"));
        at += 10s;
    }
    Restart(22700ms);
    Die(23s);

    EXPECT_EQ(StatusOf("poison"), Status::kFailed);
    EXPECT_EQ(Row("first").losses, 2u);
    EXPECT_EQ(Row("pay").losses, 2u);
}

// Of those that wait for their trial the most urgent is next, however old the others are.
TEST_F(TrialsTest, SuspectsAreTriedByPriority) {
    At(0s, Join({.id = "a", .capacity = 5, .instance = "0"}));
    At(0s, Once({.id = "first", .priority = 9}));
    At(0s, Once({.id = "slow", .priority = 1}));
    At(0s, Once({.id = "urgent", .priority = 8}));
    Die(1s);
    Die(2s);
    At(7s, Beat("a"));
    Until(12s + Trials::kForms);
    EXPECT_EQ(Row("urgent").status, Status::kScheduled);
    EXPECT_EQ(Row("slow").status, Status::kPending);
}

// Somebody sets the clock back by an hour: the trial is ten seconds after the one before it all the
// same.
TEST_F(TrialsTest, AClockThatIsSetDoesNotMoveATrial) {
    MakeSuspects();
    At(7s, Beat("a"));
    JumpWall(-1h);
    At(8s, Beat("a"));
    Until(12s + Trials::kForms - 1ms);
    EXPECT_EQ(Row("poison").status, Status::kPending);
    Until(12s + Trials::kForms);
    EXPECT_EQ(Row("poison").status, Status::kScheduled);
}

// A worker is fed a suspect and something new at the same moment, and dies.
TEST_F(TrialsTest, WhatBeganInTheSameMomentAsASuspectIsCountedInItsPlace) {
    MakeSuspects();
    At(2s + Trials::kForms, Begun("pay1"));
    At(2500ms, Once({.id = "new"}));
    At(2500ms, Begun("new"));
    Die(2700ms);
    EXPECT_EQ(StatusOf("pay1"), Status::kPending);
    EXPECT_EQ(Row("pay1").losses, 2u);
    EXPECT_EQ(Row("new").losses, 1u);
}

// Each process that is started has a name of its own. Those that died are remembered for an hour, and
// nothing can begin on them: there is one worker, and suspects have the whole time.
TEST_F(TrialsTest, WorkersThatAreGoneTryNothing) {
    for (int i = 0; i < 20; ++i) {
        const std::string id = "dead" + std::to_string(i);
        At(0s, Join({.id = id, .capacity = 5}));
        At(0s, Set(id, WorkerStatus::kOffline));
    }
    MakeSuspects();
    Until(12s + Trials::kForms - 1ms);
    EXPECT_EQ(Row("poison").status, Status::kPending);
    Until(12s + Trials::kForms);
    EXPECT_EQ(Row("poison").status, Status::kScheduled);
}

// A worker dies with more than one step can give to others, and the leader dies in the midst of it.
TEST_F(TrialsTest, ALeaderThatDiesBetweenTwoStepsBlamesNoSecondSuspect) {
    config.worker_lease = 120s;
    config.changes_per_step = 4;
    constexpr int kSuspects = 12;
    const auto id = [](int i) { return "s" + std::to_string(i); };
    At(0s, Join({.id = "a", .capacity = 100, .instance = "0"}));
    for (int i = 0; i < kSuspects; ++i) At(0s, Once({.id = id(i)}));
    for (const Duration round : {0s, 120s}) {
        for (int i = 0; i < kSuspects; ++i) At(round, Begun(id(i)));
        Die100(round + 120s);
    }
    for (int i = 0; i < kSuspects; ++i) {
        const Duration at = 240s + Trials::kForms + i * 10s;
        Until(at);
        At(at, Begun(id(i)));
    }
    tick_between = false;
    At(360s, Set("a", WorkerStatus::kOffline));
    ASSERT_GT(engine().FindWorker(WorkerId("a"))->in_hand, 0u) << "one step could not settle all";
    Restart(365s);
    tick_between = true;
    Until(366s);

    EXPECT_EQ(Row("s0").status, Status::kFailed) << "it has run as long as before";
    for (int i = 1; i < kSuspects; ++i) EXPECT_EQ(Row(id(i)).status, Status::kPending) << id(i);
}

// The same where something else takes the loss in the suspect's place.
TEST_F(TrialsTest, ALeaderThatDiesBetweenTwoStepsBlamesNothingThatWasSpared) {
    config.worker_lease = 24h;
    config.changes_per_step = 4;
    constexpr int kOthers = 12;
    const auto id = [](int i) { return "o" + std::to_string(i); };
    At(0s, Join({.id = "a", .capacity = 100, .instance = "0"}));
    At(0s, Once({.id = "suspect"}));
    Die100(1s);
    Die100(2s);
    Until(2s + Trials::kForms);
    At(2s + Trials::kForms, Begun("suspect"));
    At(2500ms, Once({.id = "new"}));
    At(2500ms, Begun("new"));
    for (int i = 0; i < kOthers; ++i) At(3600ms, Once({.id = id(i)}));
    for (int i = 0; i < kOthers; ++i) At(3600ms, Begun(id(i)));
    tick_between = false;
    At(3900ms, Set("a", WorkerStatus::kOffline));
    ASSERT_GT(engine().FindWorker(WorkerId("a"))->in_hand, 0u) << "one step could not settle all";
    Restart(4s);
    tick_between = true;
    Until(5s);

    EXPECT_EQ(Row("new").losses, 1u) << "it began in the same moment as the suspect";
    EXPECT_EQ(Row("suspect").losses, 2u);
    for (int i = 0; i < kOthers; ++i) EXPECT_EQ(Row(id(i)).losses, 0u) << id(i);
}

}  // namespace
}  // namespace takt::internal
