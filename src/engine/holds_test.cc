// Turns, named limits and their lines, without an engine around them.
#include "engine/holds.h"

#include <gtest/gtest.h>

#include <deque>

#include "engine/crew.h"

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

class HoldsTest : public ::testing::Test {
  protected:
    HoldsTest() {
        lane.number = 1;
        other_lane.number = 2;
        for (Lane* each : {&lane, &other_lane}) {
            each->queue = &queue;
            crews.Place(*each, {});
        }
        Open(0s);
        holds.Begin(now);
    }
    ~HoldsTest() override { draft.Close(); }
    void Open(Duration at) {
        now = {kBegin + at, Steady(1h + at)};
        effects = Effects{.generation = effects.generation + 1};
        draft.Open(effects, now, {1000, SIZE_MAX});
        holds.SetTime(now);
    }
    // Time passes, and every hold that is due is woken.
    void Until(Duration at) {
        draft.Close();
        Open(at);
        while (holds.AnyDue()) holds.Wake();
    }
    Live& Make(TaskOptions options, Lane& in, std::uint8_t priority = kPriorityNormal) {
        auto task = NewTaskPtr(new Task);
        task->name = "work";
        task->priority = priority;
        task->options = std::make_unique<TaskOptions>(std::move(options));
        Live& live = lives.emplace_back();
        live.row.serial = ++serial;
        live.row.task = task;
        live.row.ready_at = now.wall;
        live.lane = &in;
        holds.AddNamer(live.row);
        return live;
    }
    Live& Waiting(const TaskOptions& options, Lane& in) {
        Live& live = Make(options, in);
        holds.Add(live, *holds.LimitOf(live), false);
        return live;
    }
    // As the engine gives one to a worker.
    void Start(Live& live) {
        holds.Remove(live);
        holds.TakePermit(live);
    }
    std::string Stored(const std::string& key) const {
        std::string value;
        for (const Change& change : effects.changes) {
            const auto& setting = std::get<SettingPut>(change);
            if (setting.key.view() == key) value = setting.value.str();
        }
        return value;
    }

    static constexpr Time kBegin = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);
    Instant now{};
    Effects effects;
    Draft draft{0, 0};
    EngineConfig config;
    Holds holds{draft, config};
    Queue queue;
    Lane lane;
    Lane other_lane;
    Crews crews;
    std::deque<Live> lives;
    Serial serial = 0;
    const TaskOptions one_at_a_time{.concurrency_key = "db", .concurrency_max = 1};
    const TaskOptions one_a_second{.concurrency_key = "api", .rate = {.count = 1, .per = 1s}};
};

// --- Named limits -------------------------------------------------------------------------------

// Neither lane has a worker yet. Whichever gets one first takes the permit.
TEST_F(HoldsTest, TheFirstOfEachLaneStandsInWithoutAPermit) {
    Live& first = Waiting(one_at_a_time, lane);
    Live& second = Waiting(one_at_a_time, lane);
    Live& elsewhere = Waiting(one_at_a_time, other_lane);
    EXPECT_EQ(lane.front(), &first);
    EXPECT_EQ(other_lane.front(), &elsewhere);

    Start(elsewhere);
    EXPECT_TRUE(lane.empty()) << "drawn back: the last permit is out";
    EXPECT_TRUE(other_lane.empty());
    holds.ReturnPermit(elsewhere);
    EXPECT_EQ(lane.front(), &first);
    EXPECT_TRUE(holds.AnyDue()) << "workers may have room already";
    Start(first);
    holds.ReturnPermit(first);
    EXPECT_EQ(lane.front(), &second);
}

TEST_F(HoldsTest, InTheLaneTheyStandByPriorityAndAge) {
    Live& limited = Waiting(one_at_a_time, lane);
    Until(1s);
    Live& plain = Make({}, lane);
    Live& urgent = Make({}, lane, 9);
    lane.Add(plain);
    EXPECT_EQ(lane.front(), &limited) << "older";
    lane.Add(urgent);
    EXPECT_EQ(lane.front(), &urgent);
    lane.Remove(urgent);
    Live& behind = Waiting(one_at_a_time, lane);
    Start(limited);

    EXPECT_EQ(lane.front(), &plain);
    EXPECT_EQ(behind.waits, Waits::kLimit);
    lane.Remove(plain);
}

// A thousand kinds of work share a database. Each start and each end opens or closes the limit for all
// of them, and must not cost a thousand times as much.
TEST_F(HoldsTest, ALimitIsOpenedAndClosedOnceForAllLanesOfAQueue) {
    std::deque<Lane> more;
    for (std::uint64_t i = 0; i < 1'000; ++i) {
        Lane& each = more.emplace_back();
        each.number = 100 + i;
        each.queue = &queue;
        crews.Place(each, {});
        Waiting(one_at_a_time, each);
    }
    const Hold& limit = *holds.LimitOf(lives.front());

    EXPECT_EQ(limit.lines.size(), 1'000u);
    EXPECT_EQ(limit.sheaves.size(), 1u) << "what is told when the limit opens or closes";
    Start(lives.front());
    EXPECT_TRUE(more.back().empty());
    holds.ReturnPermit(lives.front());
    EXPECT_EQ(more.back().front(), &lives.back());
    while (!limit.lines.empty()) holds.Remove(*limit.lines.begin()->second->waiting.front());
    EXPECT_TRUE(limit.sheaves.empty());
}

// No burst after an outage: a token is spent when something starts, and the bucket has one.
TEST_F(HoldsTest, ARateIsSpentByStarts) {
    for (int i = 0; i < 3; ++i) Waiting(one_a_second, lane);
    Until(60s);
    Start(*lane.front());
    EXPECT_TRUE(lane.empty());
    Until(60s + 999ms);
    EXPECT_TRUE(lane.empty());
    Until(61s);
    ASSERT_FALSE(lane.empty());
    Start(*lane.front());

    EXPECT_TRUE(lane.empty());
}

TEST_F(HoldsTest, ALevelIsStoredWithEachStartAndForgottenWhenFull) {
    Live& live = Waiting({.rate = {.count = 2, .per = 1min}}, lane);
    Start(live);
    EXPECT_EQ(Stored("pace/name/work"), "1000000 2 60000 1767225600000");
    holds.ReturnPermit(live);
    holds.RemoveNamer(live.row);
    EXPECT_EQ(holds.limit_count(), 1u);
    Until(30s);

    EXPECT_EQ(holds.limit_count(), 0u);
    ASSERT_EQ(effects.changes.size(), 1u);
    EXPECT_EQ(std::get<SettingPut>(effects.changes[0]).value, "");
    EXPECT_FALSE(effects.urgent);
}

TEST_F(HoldsTest, ALimitThatNobodyNeedsIsForgotten) {
    Live& live = Waiting(one_at_a_time, lane);
    Until(1s);
    EXPECT_EQ(holds.limit_count(), 1u);
    holds.Remove(live);
    Until(2s);
    EXPECT_EQ(holds.limit_count(), 1u) << "it may wait for another attempt";
    holds.RemoveNamer(live.row);
    Until(3s);

    EXPECT_EQ(holds.limit_count(), 0u);
    EXPECT_TRUE(effects.changes.empty());
}

// The clock is set back between two changes of a limit: the one accepted last counts.
TEST_F(HoldsTest, TheWordAcceptedLastCountsWhateverTheClockSays) {
    Waiting({.concurrency_key = "db", .concurrency_max = 1}, lane);
    Live& later = Make({.concurrency_key = "db", .concurrency_max = 5}, lane);
    later.row.created_at = kBegin - 1h;
    EXPECT_EQ(holds.LimitOf(later)->permits_max, 5u);
    serial = 0;
    Live& earlier = Make({.concurrency_key = "db", .concurrency_max = 3}, lane);

    EXPECT_EQ(holds.LimitOf(earlier)->permits_max, 5u);
}

// The word that counts is stored when they disagree, once, and deleted when they agree again.
TEST_F(HoldsTest, AWordIsStoredOnlyWhereThoseWhoAreLeftWouldTellAnother) {
    Make({.concurrency_key = "db", .concurrency_max = 4}, lane);
    Make({.concurrency_key = "db", .concurrency_max = 4}, lane);
    EXPECT_TRUE(effects.changes.empty()) << "they agree";
    Live& last = Make({.concurrency_key = "db", .concurrency_max = 1}, lane);
    EXPECT_EQ(Stored("limit/key/db"), "1 0 0 3");
    EXPECT_TRUE(effects.urgent);
    holds.RemoveNamer(last.row);
    Until(1s);
    EXPECT_TRUE(effects.changes.empty()) << "it counts although it has ended";
    Make({.concurrency_key = "db", .concurrency_max = 1}, lane);
    EXPECT_TRUE(effects.changes.empty()) << "the same";
    holds.RemoveNamer(lives[0].row);
    EXPECT_TRUE(effects.changes.empty());
    holds.RemoveNamer(lives[1].row);
    ASSERT_EQ(effects.changes.size(), 1u) << "only the one with 1 is left";
    EXPECT_EQ(std::get<SettingPut>(effects.changes[0]).value, "");
    EXPECT_FALSE(effects.urgent);
}

// --- Turns --------------------------------------------------------------------------------------

TEST_F(HoldsTest, TurnsAreTakenInOrderAndKept) {
    Hold turns;
    turns.permits_max = 1;
    Live& first = Make({}, lane);
    Live& second = Make({}, lane, 9);
    Live& third = Make({}, other_lane);
    EXPECT_TRUE(holds.TakeTurn(first, turns));
    EXPECT_TRUE(holds.TakeTurn(first, turns)) << "it has it already";
    EXPECT_FALSE(holds.TakeTurn(second, turns));
    EXPECT_FALSE(holds.TakeTurn(third, turns));
    EXPECT_EQ(holds.NextInTurn(turns), nullptr);
    holds.ReturnTurn(turns);
    EXPECT_TRUE(holds.AnyDue());
    EXPECT_EQ(holds.NextInTurn(turns), &second);
    EXPECT_EQ(holds.NextInTurn(turns), nullptr);
    holds.SetTurnsAtOnce(turns, 0);

    EXPECT_EQ(holds.NextInTurn(turns), &third);
    holds.Forget(turns);
}

TEST_F(HoldsTest, WhatIsForcedNeedsNoTurn) {
    Hold turns;
    turns.permits_max = 1;
    Live& first = Make({}, lane);
    Live& forced = Make({}, lane);
    forced.forced = true;
    EXPECT_TRUE(holds.TakeTurn(first, turns));

    EXPECT_TRUE(holds.TakeTurn(forced, turns));
    EXPECT_EQ(turns.taken, 1u);
}

}  // namespace
}  // namespace takt::internal
