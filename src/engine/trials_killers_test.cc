// Payloads that kill their workers on a day with others: the former fail, the others do not.
#include <algorithm>
#include <functional>
#include <map>

#include "base/failpoint.h"
#include "engine/history.h"
#include "engine/trials.h"

namespace takt::internal {
namespace {

// A day with several bad payloads among good ones. Workers that die are started again after a second;
// whatever has run for as long as it takes has ended well.
class SeveralKillersTest : public History {
  protected:
    struct Killer {
        std::string id;
        std::vector<Duration>
            after;  // It kills its worker so long after it began: each time in turn.
    };
    struct Later {
        Duration at;
        std::string id;
    };
    static constexpr Duration kLook{500};

    void SetUp() override {
        ASSERT_TRUE(StartFailPoints());
        config.losses_max = 5;
        config.worker_lease = 24h;
    }

    void Join1(Duration at, const std::string& worker) {
        At(at,
           Join({.id = worker, .capacity = capacity, .instance = std::to_string(++died[worker])}));
    }
    void Play(const std::vector<Killer>& killers, std::vector<std::string> workers,
              Duration until) {
        std::map<AttemptRef, Duration, Less> began;
        for (const std::string& worker : workers) Join1(now, worker);
        Duration restart = now + leads;
        for (; now < until; now += kLook) {
            for (; !later.empty() && later.front().at <= now; later.erase(later.begin())) {
                At(now, Once({.id = later.front().id}));
            }
            if (leads > 0s && now >= restart) {
                restart += leads;
                ChangeLeader(workers);
            }
            for (const std::string& worker : workers) Look(killers, worker, began);
            if (later.empty() && AllIsOver()) break;
        }
    }

    // How its attempts ended, for who reads that a test failed.
    std::string StoryOf(const std::string& id) {
        std::string story = id + ":";
        const auto seconds = [](Time at) {
            return std::to_string((at == Time{} ? Duration(-1) : at - kBegin).count());
        };
        if (!Row(id).outcome) return story;
        for (const PastAttempt& past : Row(id).outcome->past) {
            story += " " + past.worker.text().str() + " " + seconds(past.started_at) + "-" +
                     seconds(past.finished_at) +
                     (past.reason == Reason::kWorkerLost ? " spared;" : ";");
        }
        return story + "\n";
    }

    std::uint32_t capacity = 8;
    Duration now{0};
    Duration takes{20'000};    // What is innocent.
    Duration leads{0};         // Then the leader changes; 0: never.
    std::vector<Later> later;  // What somebody submits meanwhile, the next first.
    std::string followed;      // Ten seconds after each time it begins something is submitted.
    std::vector<std::string> followers;

  private:
    struct Less {
        bool operator()(const AttemptRef& a, const AttemptRef& b) const {
            return std::pair(a.execution, a.attempt) < std::pair(b.execution, b.attempt);
        }
    };
    bool AllIsOver() {
        return engine().count(Status::kPending) + engine().count(Status::kScheduled) +
                   engine().count(Status::kRunning) ==
               0;
    }
    std::vector<AttemptRef> RefsOf(const std::string& worker) {
        std::vector<AttemptRef> hand;
        for (const HeldView& held : engine().HandOf(WorkerId(Text(worker)))) {
            const Execution& row = held.execution;
            hand.push_back({row.id, row.attempt, row.token});
        }
        return hand;
    }
    void ChangeLeader(const std::vector<std::string>& workers) {
        Restart(now);
        for (const std::string& worker : workers) {
            At(now, Join({.id = worker,
                          .capacity = capacity,
                          .instance = std::to_string(died[worker]),
                          .holding = RefsOf(worker)}));
        }
    }
    void Look(const std::vector<Killer>& killers, const std::string& worker,
              std::map<AttemptRef, Duration, Less>& began) {
        At(now, Beat(worker));
        const std::vector<AttemptRef> hand = RefsOf(worker);
        for (const AttemptRef& attempt : hand) {
            if (!began.try_emplace(attempt, now).second) continue;
            At(now, Started{SessionOf(worker), attempt});
            if (attempt.execution.text() != followed) continue;
            followers.push_back(followed + "-" + std::to_string(attempt.attempt));
            later.push_back({now + 10s, followers.back()});
        }
        for (const AttemptRef& attempt : hand) {
            const auto killer =
                std::ranges::find(killers, attempt.execution.text().str(), &Killer::id);
            const Duration ran = now - began.at(attempt);
            if (killer == killers.end()) {
                if (ran >= takes) At(now, ReportOf(attempt, worker, true));
            } else if (ran >= killer->after[attempt.attempt % killer->after.size()]) {
                return Join1(now, worker);
            }
        }
    }

    std::map<std::string, int> died;
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
                    killers.push_back(
                        {round + "killer" + std::to_string(i), {after * (i + 1) / 2}});
                }
                for (int i = 0; i < 12; ++i) {
                    At(now, Once({.id = round + "good" + std::to_string(i)}));
                    if (i % 3 == 0) At(now, Once({.id = killers[std::size_t(i) / 3].id}));
                }
                At(now, Once({.id = killers[4].id}));
                Play(killers, workers, now + 40min);
                for (int i = 0; i < 12; ++i) {
                    EXPECT_EQ(StatusOf(round + "good" + std::to_string(i)), Status::kSuccess)
                        << StoryOf(round + "good" + std::to_string(i));
                }
                for (const Killer& killer : killers) {
                    EXPECT_EQ(StatusOf(killer.id), Status::kFailed) << killer.id;
                }
            }
        }
    }
}

// A task that is submitted some time after a killer is as old at each death as it will be in its
// trial, if that time is what suspects are apart.
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
                    Play({{round + "killer", {after}}}, workers, now + 10min);
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

// A payload that kills after the same time each time is found, whoever is beside it, and whoever leads.
class OneKillerTest : public SeveralKillersTest {
  protected:
    // Submits the killers now and payments at distances from them; the former fail, and soon.
    void PlayOut(const std::string& round, const std::vector<std::vector<Duration>>& kills,
                 const std::vector<Duration>& apart, const std::vector<std::string>& workers) {
        Restart(now += 1s);
        const Duration begin = now + 20s;
        std::vector<Killer> killers;
        for (const std::vector<Duration>& after : kills) {
            killers.push_back({round + "killer" + std::to_string(killers.size()), after});
            later.push_back({begin, killers.back().id});
        }
        for (std::size_t i = 0; i < apart.size(); ++i) {
            later.push_back({begin + apart[i], round + "pay" + std::to_string(i)});
        }
        std::ranges::stable_sort(later, {}, &Later::at);
        Play(killers, workers, now + 20min);
        for (const Killer& killer : killers) {
            EXPECT_EQ(StatusOf(killer.id), Status::kFailed) << killer.id;
            EXPECT_LE(Row(killer.id).attempt, config.losses_max + lost_beside)
                << StoryOf(killer.id);
        }
        for (std::size_t i = 0; i < apart.size(); ++i) {
            const std::string pay = round + "pay" + std::to_string(i);
            EXPECT_EQ(StatusOf(pay), Status::kSuccess)
                << StoryOf(pay) << StoryOf(round + "killer0")
                << (kills.size() > 1 ? StoryOf(round + "killer1") : "");
        }
    }
    // With how many workers, how many losses, and under one leader or several.
    void ForAll(const std::function<void(const std::string&, const std::vector<std::string>&)>& f) {
        for (const std::uint32_t losses_max : {2u, 3u}) {
            for (const std::size_t count : {1u, 2u}) {
                for (const Duration lead : {0s, 17s}) {
                    config.losses_max = losses_max;
                    leads = lead;
                    f(std::to_string(losses_max) + "-" + std::to_string(count) + "-" +
                          std::to_string(lead.count()) + "-",
                      count == 1 ? std::vector<std::string>{"a"}
                                 : std::vector<std::string>{"a", "b"});
                }
            }
        }
    }
    void SetUp() override {
        SeveralKillersTest::SetUp();
        takes = 60s;
    }
    std::uint32_t lost_beside = 6;  // So many losses more a killer may have.
};

TEST_F(OneKillerTest, IsFoundHoweverFarWhatIsInnocentIsFromIt) {
    ForAll([&](const std::string& round, const std::vector<std::string>& workers) {
        for (const Duration after : {0s, 5s, 10s, 30s}) {
            for (const std::vector<Duration>& apart :
                 {std::vector<Duration>{-10s, 0s, 10s}, {10s}, {0s}, {-10s}, {9s, 11s, 20s}}) {
                PlayOut(round + std::to_string(after.count()) + "-" +
                            std::to_string(apart.front().count()) + "-" +
                            std::to_string(apart.size()) + "-",
                        {{after}}, apart, workers);
            }
        }
    });
}

// Each time it begins somebody pays ten seconds later.
TEST_F(OneKillerTest, IsFoundAmongWhatComesAtTheSameDistanceEachTime) {
    ForAll([&](const std::string& round, const std::vector<std::string>& workers) {
        for (const Duration after : {9'500ms, 10'000ms, 10'500ms, 30'000ms}) {
            const std::string name = round + std::to_string(after.count()) + "-";
            followed = name + "killer0";
            followers.clear();
            lost_beside = 18;  // What begins in the same moment may be it as well.
            PlayOut(name, {{after}}, {}, workers);
            for (const std::string& id : followers) EXPECT_EQ(StatusOf(id), Status::kSuccess) << id;
        }
    });
}

TEST_F(OneKillerTest, AndAnotherOneAreFound) {
    ForAll([&](const std::string& round, const std::vector<std::string>& workers) {
        for (const Duration first : {0s, 5s, 10s, 30s}) {
            for (const Duration second : {5s, 12s, 30s}) {
                PlayOut(round + std::to_string(first.count()) + "-" +
                            std::to_string(second.count()) + "-",
                        {{first}, {second}}, {-10s, 0s, 10s}, workers);
            }
        }
    });
}

TEST_F(OneKillerTest, ThatKillsAfterAnotherTimeEachTimeFailsToo) {
    ForAll([&](const std::string& round, const std::vector<std::string>& workers) {
        for (int turn = 0; turn < 4; ++turn) {
            std::vector<Duration> after{3s, 17s, 8s, 26s, 12s};
            std::ranges::rotate(after, after.begin() + turn);
            PlayOut(round + std::to_string(turn) + "-", {after}, {}, workers);
        }
    });
}

}  // namespace
}  // namespace takt::internal
