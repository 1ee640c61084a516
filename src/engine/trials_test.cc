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
    Until(12s - 1ms);
    EXPECT_EQ(Row("poison").status, Status::kPending);
    Until(12s);
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
    At(2s, Begun("pay1"));
    At(3500ms, Once({.id = "new"}));
    EXPECT_EQ(Row("new").status, Status::kScheduled);
    At(3500ms, Begun("new"));
    Die(3700ms);
    EXPECT_EQ(StatusOf("pay1"), Status::kFailed) << "the suspect that began last";
    EXPECT_EQ(Row("new").losses, 0u);
    EXPECT_EQ(Row("new").attempt, 2u);
}

// The supervisor waits longer and longer before it starts the worker again.
TEST_F(TrialsTest, SuspectsThatWaitForAWorkerDoNotBeginTogetherWhenItComes) {
    MakeSuspects();
    At(3s, Set("a", WorkerStatus::kOffline));
    EXPECT_EQ(StatusOf("pay1"), Status::kFailed);
    Until(300s);
    Die(300s);
    EXPECT_EQ(Row("poison").status, Status::kScheduled);
    EXPECT_EQ(Row("pay2").status, Status::kPending);
    At(305s, Beat("a"));
    Until(310s);
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
    begin(60s, "pay1");
    At(65s, Beat("a"));
    begin(70s, "poison");
    At(75s, Beat("a"));
    begin(80s, "pay2");
    At(85s, Beat("a"));
    begin(90s, "pay3");
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
    At(2s, Begun("first"));
    for (const auto& [at, id] : {std::pair(12s, "pay"), std::pair(22s, "poison")}) {
        At(at - 5s, Beat("a"));
        Until(at);
        ASSERT_EQ(Row(id).status, Status::kScheduled) << id;
        At(at, Begun(id));
    }
    Restart(22500ms);
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
    Until(12s);
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
    Until(12s - 1ms);
    EXPECT_EQ(Row("poison").status, Status::kPending);
    Until(12s);
    EXPECT_EQ(Row("poison").status, Status::kScheduled);
}

// A worker is fed a suspect and something new at the same moment, and dies.
TEST_F(TrialsTest, WhatBeganInTheSameMomentAsASuspectIsCountedInItsPlace) {
    MakeSuspects();
    At(2s, Begun("pay1"));
    At(2500ms, Once({.id = "new"}));
    At(2500ms, Begun("new"));
    Die(2700ms);
    EXPECT_EQ(StatusOf("pay1"), Status::kPending);
    EXPECT_EQ(Row("pay1").losses, 2u);
    EXPECT_EQ(Row("new").losses, 1u);
}

// A day with several bad payloads among good ones. Workers that die are started again after a second;
// whatever has run for as long as it takes has ended well.
class SeveralKillersTest : public TrialsTest {
  protected:
    struct Killer {
        std::string id;
        Duration after;  // It kills its worker so long after it began.
    };
    struct Later {
        Duration at;
        std::string id;
    };
    static constexpr Duration kLook{500};

    void SetUp() override {
        TrialsTest::SetUp();
        config.losses_max = 5;
        config.worker_lease = 24h;
    }

    void Join1(Duration at, const std::string& worker) {
        At(at, Join({.id = worker, .capacity = capacity, .instance = std::to_string(++died)}));
    }
    void Play(std::vector<Killer> killers, std::vector<std::string> workers, Duration until) {
        std::map<AttemptRef, Duration, Less> began;
        for (const std::string& worker : workers) Join1(now, worker);
        for (; now < until; now += kLook) {
            for (; !later.empty() && later.front().at <= now; later.erase(later.begin())) {
                At(now, Once({.id = later.front().id}));
            }
            for (const std::string& worker : workers) Look(killers, worker, began);
        }
    }

    std::uint32_t capacity = 8;
    Duration now{0};
    Duration takes{20'000};    // What is innocent.
    std::vector<Later> later;  // What somebody submits meanwhile, the next first.

  private:
    struct Less {
        bool operator()(const AttemptRef& a, const AttemptRef& b) const {
            return std::pair(a.execution, a.attempt) < std::pair(b.execution, b.attempt);
        }
    };
    void Look(const std::vector<Killer>& killers, const std::string& worker,
              std::map<AttemptRef, Duration, Less>& began) {
        At(now, Beat(worker));
        std::vector<AttemptRef> hand;
        for (const HeldView& held : engine().HandOf(WorkerId(Text(worker)))) {
            const Execution& row = held.execution;
            hand.push_back({row.id, row.attempt, row.token});
        }
        for (const AttemptRef& attempt : hand) {
            if (began.try_emplace(attempt, now).second) {
                At(now, Started{SessionOf(worker), attempt});
            }
        }
        for (const AttemptRef& attempt : hand) {
            const auto killer =
                std::ranges::find(killers, attempt.execution.text().str(), &Killer::id);
            const Duration ran = now - began.at(attempt);
            if (killer == killers.end()) {
                if (ran >= takes) At(now, ReportOf(attempt, worker, true));
            } else if (ran >= killer->after) {
                return Join1(now, worker);
            }
        }
    }
};

TEST_F(SeveralKillersTest, WhatIsInnocentSucceedsHoweverManyKillBesideIt) {
    for (const std::vector<std::string>& workers :
         {std::vector<std::string>{"a"}, std::vector<std::string>{"a", "b"}}) {
        for (const Duration after : {500ms, 2'000ms, 3'500ms}) {
            for (const std::uint32_t room : {3u, 8u, 20u}) {
                Restart(now += 1s);
                capacity = room;
                const std::string round = std::to_string(workers.size()) + "-" +
                                          std::to_string(after.count()) + "-" +
                                          std::to_string(room) + "-";
                std::vector<Killer> killers;
                for (int i = 0; i < 5; ++i) {
                    killers.push_back({round + "killer" + std::to_string(i), after * (i + 1) / 2});
                }
                for (int i = 0; i < 12; ++i) {
                    At(now, Once({.id = round + "good" + std::to_string(i)}));
                    if (i % 3 == 0) At(now, Once({.id = killers[std::size_t(i) / 3].id}));
                }
                At(now, Once({.id = killers[4].id}));
                Play(killers, workers, now + 40min);
                for (int i = 0; i < 12; ++i) {
                    EXPECT_EQ(StatusOf(round + "good" + std::to_string(i)), Status::kSuccess)
                        << round << i;
                }
                for (const Killer& killer : killers) {
                    EXPECT_EQ(StatusOf(killer.id), Status::kFailed) << killer.id;
                }
            }
        }
    }
}

// What is submitted some time after a killer is as old at each death as it will be in its trial, if
// that time is what suspects are apart.
TEST_F(SeveralKillersTest, OneKillerTakesNothingWithItThatIsSubmittedAWhileAfterIt) {
    takes = 60s;
    for (const std::uint32_t losses_max : {3u, 4u, 5u}) {
        for (const std::vector<std::string>& workers :
             {std::vector<std::string>{"a"}, std::vector<std::string>{"a", "b"}}) {
            for (const Duration after : {12s, 20s, 30s}) {
                for (const Duration apart : {3s, 5s, 9s, 10s, 11s}) {
                    config.losses_max = losses_max;
                    Restart(now += 1s);
                    const std::string round =
                        std::to_string(losses_max) + "-" + std::to_string(workers.size()) + "-" +
                        std::to_string(after.count()) + "-" + std::to_string(apart.count()) + "-";
                    At(now, Once({.id = round + "killer"}));
                    for (int i = 1; i <= 4; ++i) {
                        later.push_back({now + apart * i, round + "pay" + std::to_string(i)});
                    }
                    Play({{round + "killer", after}}, workers, now + 10min);
                    EXPECT_EQ(StatusOf(round + "killer"), Status::kFailed) << round;
                    for (int i = 1; i <= 4; ++i) {
                        EXPECT_EQ(StatusOf(round + "pay" + std::to_string(i)), Status::kSuccess)
                            << round << i;
                    }
                }
            }
        }
    }
}

// After a power cut everything has one loss, and nothing is to be found out.
TEST_F(SeveralKillersTest, FiveThousandWithOneLossEachAreNotDelayed) {
    capacity = 100;
    for (int i = 0; i < 50; ++i) Join1(0s, "w" + std::to_string(i));
    for (int i = 0; i < 5'000; ++i) At(0s, Once({.id = "x" + std::to_string(i)}));
    for (int i = 0; i < 50; ++i) Join1(1s, "w" + std::to_string(i));
    Until(1s + 1ms);

    EXPECT_EQ(engine().count(Status::kScheduled), 5'000u);
    EXPECT_EQ(Row("x17").losses, 1u);
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
    Until(12s - 1ms);
    EXPECT_EQ(Row("poison").status, Status::kPending);
    Until(12s);
    EXPECT_EQ(Row("poison").status, Status::kScheduled);
}

// A worker dies with more than one step can give to others, and the leader dies in the midst of it.
TEST_F(TrialsTest, ALeaderThatDiesBetweenTwoStepsBlamesNoSecondSuspect) {
    config.worker_lease = 24h;
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
        At(240s + i * 10s, Begun(id(i)));
        Until(240s + (i + 1) * 10s);
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

}  // namespace
}  // namespace takt::internal
