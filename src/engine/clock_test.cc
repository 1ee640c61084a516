// Wall clocks that are wrong for a moment, by days or by years, on one leader or on the next.
#include "base/log.h"
#include "engine/clock_fixture.h"

namespace takt::internal {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

// NTP sets the clock of the leader a week and a day ahead, and notices a few seconds later.
TEST_F(ClockTest, AClockThatIsAheadForAMomentPurgesNothingThatRetentionKeeps) {
    const LogCapture log;
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Once({.id = "x"}));
    At(1s, Success("x"));
    Until(10s);
    store.purges.clear();
    JumpWall(24h * 8);
    At(11s, Once({.id = "y"}));
    At(12s, Success("y"));
    Until(50min);
    JumpWall(-24h * 8);
    Until(51min);

    ASSERT_THAT(store.purges, ::testing::Not(IsEmpty()));
    for (const Purge& purge : store.purges) {
        EXPECT_LE(purge.finished_before, kBegin + 1h - config.retention);
        EXPECT_LE(purge.events_before, kBegin + 1h - config.retention);
    }
    EXPECT_THAT(log.lines(), ElementsAre(HasSubstr("set ahead"), HasSubstr("set back")));
}

// The clock was a year behind since the machine was installed; somebody repairs it.
TEST_F(ClockTest, AClockThatStaysAheadPurgesAfterAnHour) {
    At(0s, Once({.id = "x"}));
    Until(1s);
    JumpWall(24h * 365);
    Until(59min);
    for (const Purge& purge : store.purges) EXPECT_LT(purge.finished_before, kBegin);
    Until(2h);
    EXPECT_GT(store.purges.back().finished_before, kBegin + 24h * 350);
}

// A leader whose clock is a month ahead takes over.
TEST_F(ClockTest, ALeaderWhoseClockIsAheadPurgesNothingThatRetentionKeeps) {
    At(0s, Once({.id = "x"}));
    JumpWall(24h * 30);
    Restart(1min);
    Until(30min);
    for (const Purge& purge : store.purges) {
        EXPECT_LE(purge.finished_before, kBegin + 31min - config.retention);
    }
}

TEST_F(ClockTest, AClockThatIsAheadForAMomentSilencesNoTask) {
    At(0s, Put({.cron = "0 * * * * *", .options = Parallel()}));
    At(0s, Put({.id = "rate", .every = 1min, .options = Parallel()}));
    Glitch(3min + 30s, 24h * 30);
    Until(33min + 30s);

    EXPECT_EQ(Fired().size(), 34u) << "33 minutes, and the one of a month ahead";
    EXPECT_THAT(Counts(), Each(1));
    EXPECT_EQ(Fired("rate").size(), 34u);
}

// The due time that was fired a month too early does not come again when its month has come.
TEST_F(ClockTest, WhatWasFiredByAClockAheadIsNotFiredAgain) {
    At(0s, Put({.every = 1h, .options = Parallel()}));
    Until(90min);
    JumpWall(24h);
    Until(4h + 30min);  // Three of tomorrow's.
    JumpWall(-24h);
    Until(40h);

    EXPECT_THAT(Counts(), Each(1));
    EXPECT_EQ(Fired().size(), 37u);
    const FireState& state = TaskOf("report").state;
    EXPECT_EQ(state.fires, 37u);
    EXPECT_EQ(state.missed, 3u) << "those of the three hours in which the clock was ahead";
}

// Every policy of what is late.
TEST_F(ClockTest, NoPolicyFiresTwiceOrFallsSilent) {
    for (const Misfire misfire : {Misfire::kFireOnce, Misfire::kFireAll, Misfire::kSkip}) {
        At(0s, Put({.id = std::string(Name(misfire)),
                    .every = 1min,
                    .options = {.mode = Mode::kParallel, .misfire = misfire, .misfires_max = 5}}));
    }
    Glitch(3min + 30s, 2h);
    Until(5h);
    for (const Misfire misfire : {Misfire::kFireOnce, Misfire::kFireAll, Misfire::kSkip}) {
        const auto fired = Fired(std::string(Name(misfire)));
        EXPECT_EQ(fired.size(), 300u) << Name(misfire);
        for (const auto& [due, count] : fired) EXPECT_EQ(count, 1) << Name(misfire);
    }
}

// The clock of the next leader is right; that of the last one was an hour ahead.
TEST_F(ClockTest, ALeaderWhoseClockIsBehindFiresWhatThatOfTheLastOnePassedOver) {
    At(0s, Put({.every = 1min, .options = Parallel()}));
    Until(90s);
    JumpWall(1h);
    Until(5min + 30s);
    JumpWall(-1h);
    Restart(6min + 30s);
    Until(10min + 30s);

    EXPECT_THAT(Counts(), Each(1));
    EXPECT_TRUE(Fired().contains(kBegin + 7min));
    EXPECT_TRUE(Fired().contains(kBegin + 10min));
}

TEST_F(ClockTest, AFixedDelayGoesOnAfterAClockWasAhead) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.after_end = 1min}));
    Until(1s);
    JumpWall(24h * 30);
    FinishAll(2s);
    JumpWall(-24h * 30);
    Until(63s);
    EXPECT_THAT(RunsOf("report"), SizeIs(2));
}

// "Other times begin from now", also if a clock was a year ahead for so long that all due times of
// a week were really fired.
TEST_F(ClockTest, AChangedScheduleBeginsFromNow) {
    JumpWall(24h * 365);
    At(0s, Put({.cron = "0 0 * * * *", .options = Parallel()}));
    Until(24h * 7);
    JumpWall(-24h * 365);
    Until(24h * 8);
    const std::size_t before = RunsOf("report").size();
    At(24h * 8, Put({.cron = "0 30 * * * *", .options = Parallel()}));
    EXPECT_EQ(TaskOf("report").state.next_at, kBegin + 24h * 8 + 30min);
    Until(24h * 9);
    EXPECT_EQ(RunsOf("report").size(), before + 24);
}

TEST_F(ClockTest, AResumedTaskBeginsFromNow) {
    JumpWall(24h * 365);
    At(0s, Put({.cron = "0 0 * * * *", .options = Parallel()}));
    Until(24h * 7);
    JumpWall(-24h * 365);
    At(24h * 8, Pause("report"));
    At(24h * 8, Resume("report"));
    EXPECT_EQ(TaskOf("report").state.next_at, kBegin + 24h * 8 + 1h);
}

// A clock is set back by minutes, and a schedule changed twice: what was fired stays fired.
TEST_F(ClockTest, TheLastDueTimeNeverGoesBack) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.cron = "0 * * * * *", .options = Parallel()}));
    Until(10min);
    const Time last = TaskOf("report").state.last_at;
    FinishAll(10min);
    JumpWall(-5min);
    At(10min, Put({.after_end = 1s, .options = Parallel()}));
    Until(10min + 2s);
    EXPECT_GE(TaskOf("report").state.last_at, last);
    At(10min + 3s, Put({.cron = "0 * * * * *", .options = Parallel()}));
    Until(20min);
    for (const auto& [due, count] : Fired()) {
        if (due.time_since_epoch() % 60s == 0s) EXPECT_EQ(count, 1) << FormatTime(due);
    }
}

// A key that is taken for a day is not free because a clock was a month ahead for a second.
TEST_F(ClockTest, AClockThatIsAheadForAMomentFreesNoUniqueKey) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x", .unique_key = "invoice-7", .unique_for = 24h}));
    At(1s, Success("x"));
    JumpWall(24h * 30);
    At(2s, Once({.id = "y", .unique_key = "invoice-7", .unique_for = 24h}));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
    Until(3s);
    JumpWall(-24h * 30);
    At(4s, Once({.id = "z", .unique_key = "invoice-7", .unique_for = 24h}));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
}

// One reading of the clock lies in the year 2106.
TEST_F(ClockTest, SerialsStayInTheirBits) {
    At(0s, Once({.id = "x"}));
    JumpWall(24h * 365 * 80);
    At(1s, Once({.id = "y"}));
    JumpWall(-24h * 365 * 80);
    At(2s, Once({.id = "z"}));
    EXPECT_LT(TimeOf(engine().last_serial()), kBegin + 1h);
}

// Under a clock that is a month ahead for a moment, what is made is not sorted a month ahead.
TEST_F(ClockTest, SerialsDoNotFollowAClockThatIsAheadForAMoment) {
    JumpWall(24h * 30);
    At(1s, Once({.id = "y"}));
    EXPECT_LE(TimeOf(engine().last_serial()), kBegin + 24h * 31);
    Glitch(2s, 24h * 30);
    At(4s, Once({.id = "z"}));
    EXPECT_LE(TimeOf(engine().last_serial()), kBegin + 24h * 30 + 1min);
}

// A run that begins while the clock is a month ahead is not put off by a month, whoever leads then.
class BegunAheadTest : public ClockTest, public ::testing::WithParamInterface<bool> {
  protected:
    // The clock is right again, on this leader or on the next.
    void ComeBack(Duration at) {
        JumpWall(-24h * 30);
        if (GetParam()) {
            Restart(at);
        } else {
            Until(at);
        }
    }
};

TEST_P(BegunAheadTest, TasksFireFromNowOn) {
    Until(0s);
    JumpWall(24h * 30);
    At(1s, Put({.id = "rate", .every = 10s, .options = Parallel()}));
    At(1s, Put({.id = "cron", .cron = "*/10 * * * * *", .options = Parallel()}));
    At(1s, Put({.id = "jitter", .every = 10s, .jitter = 5s, .options = Parallel()}));
    At(1s, Put({.id = "unfired", .every = 1min, .options = Parallel()}));
    Until(15s);
    ComeBack(16s);
    Until(10min);

    EXPECT_GE(Fired("rate").size(), 59u);
    EXPECT_GE(Fired("cron").size(), 59u);
    EXPECT_GE(Fired("jitter").size(), 59u);
    EXPECT_GE(Fired("unfired").size(), 9u);
    for (const char* task : {"rate", "cron", "jitter", "unfired"}) {
        for (const auto& [due, count] : Fired(task)) EXPECT_EQ(count, 1) << task;
    }
}

// Nobody led when the clock came back, and the task was paused.
TEST_P(BegunAheadTest, APausedTaskFiresFromItsResumptionOn) {
    Until(0s);
    JumpWall(24h * 30);
    At(1s, Put({.every = 10s, .options = Parallel()}));
    Until(15s);
    At(15s, Pause("report"));
    ComeBack(16s);
    At(1min, Resume("report"));
    Until(10min);
    EXPECT_GE(Fired().size(), 54u);
    EXPECT_THAT(Counts(), Each(1));
}

TEST_P(BegunAheadTest, RetriesDelaysAndKeysLastAsLongAsTheySay) {
    Until(0s);
    JumpWall(24h * 30);
    At(1s, Join({.id = "a", .capacity = 10}));
    At(1s, Once({.id = "retried", .retry = RetryPolicy{.retries_max = 3, .delay = 4s}}));
    At(2s, Failure("retried"));
    At(2s, Once({.id = "delayed", .delay = 4s}));
    At(2s, Once({.id = "keyed", .unique_key = "order", .unique_for = 5s}));
    At(2s, Success("keyed"));
    ComeBack(3s);
    At(3s, Join({.id = "a", .capacity = 10}));
    assigns.clear();
    Until(5s);
    EXPECT_THAT(assigns, IsEmpty()) << "neither is due yet";
    Until(8s);
    EXPECT_THAT(assigns, SizeIs(2));
    const Submit second = Once({.id = "next", .unique_key = "order", .unique_for = 5s});
    At(9s, second);
    EXPECT_TRUE(replies.at(second.request).has_value());
}

// The first leader began with a clock that was a month ahead, so that nothing told it so, and died.
TEST_F(ClockTest, AKeyOfALeaderThatBeganAheadIsFreeAfterItsWindow) {
    JumpWall(24h * 30);
    At(0s, Join({.id = "a", .capacity = 10}));
    At(1s, Once({.id = "keyed", .unique_key = "order", .unique_for = 1min}));
    At(1s, Success("keyed"));
    Until(2s);
    tick_between = false;  // Only the next leader sees it.
    JumpWall(-24h * 30);
    Restart(2s);
    tick_between = true;
    const Submit early = Once({.id = "early", .unique_key = "order", .unique_for = 1min});
    At(30s, early);
    EXPECT_FALSE(replies.at(early.request).has_value());
    const Submit late = Once({.id = "late", .unique_key = "order", .unique_for = 1min});
    At(2s + 1min, late);
    EXPECT_TRUE(replies.at(late.request).has_value());
}

// The next leader begins by a clock that is behind: what it counts is as long once that is right.
TEST_F(ClockTest, AKeyIsNotFreeEarlyUnderALeaderThatBeganBehind) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(1s, Once({.id = "keyed", .unique_key = "order", .unique_for = 24h}));
    At(1s, Success("keyed"));
    Until(2s);
    tick_between = false;
    JumpWall(-2h);
    Restart(3s);
    tick_between = true;
    JumpWall(2h);
    const Submit early = Once({.id = "early", .unique_key = "order", .unique_for = 24h});
    At(23h, early);
    EXPECT_FALSE(replies.at(early.request).has_value());
    const Submit late = Once({.id = "late", .unique_key = "order", .unique_for = 24h});
    At(24h + 1min, late);
    EXPECT_TRUE(replies.at(late.request).has_value());
}

// The machine was started, and its clock was two hours ahead until NTP was there: on a new store, or on
// one that knows the right time.
class StartedAheadTest : public ClockTest, public ::testing::WithParamInterface<bool> {};

TEST_P(StartedAheadTest, WhatItMadeMeanwhileGoesOnWhenTheClockIsRight) {
    if (GetParam()) {
        At(0s, Once({.id = "before", .delay = 24h}));
        JumpWall(2h);
        Restart(1s);
    } else {
        JumpWall(2h);
    }
    At(1s, Join({.id = "a", .capacity = 10}));
    At(1s, Put({.id = "rate", .every = 10s, .options = Parallel()}));
    At(1s, Put({.id = "cron", .cron = "*/10 * * * * *", .options = Parallel()}));
    At(1s, Once({.id = "retried", .retry = RetryPolicy{.retries_max = 3, .delay = 4s}}));
    At(2s, Failure("retried"));
    At(2s, Once({.id = "delayed", .delay = 4s}));
    At(2s, Once({.id = "keyed", .unique_key = "order", .unique_for = 5s}));
    At(2s, Success("keyed"));
    JumpWall(-2h);
    Until(3s);
    assigns.clear();
    Until(9s);

    const auto given = [&](const char* id) {
        return std::ranges::any_of(
            assigns, [&](const auto& assign) { return assign.execution.id.view() == id; });
    };
    EXPECT_TRUE(given("retried"));
    EXPECT_TRUE(given("delayed"));
    const Submit second = Once({.id = "next", .unique_key = "order", .unique_for = 5s});
    At(10s, second);
    EXPECT_TRUE(replies.at(second.request).has_value());
    Until(10min);
    EXPECT_GE(Fired("rate").size(), 58u);
    EXPECT_GE(Fired("cron").size(), 58u);
}

INSTANTIATE_TEST_SUITE_P(Stores, StartedAheadTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Used" : "New"; });

INSTANTIATE_TEST_SUITE_P(Leaders, BegunAheadTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "TheNextOne" : "TheSame"; });

}  // namespace
}  // namespace takt::internal
