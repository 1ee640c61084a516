// Wall clocks that are wrong more than once, or while a leader begins.
#include <gmock/gmock.h>

#include "engine/clock_fixture.h"
#include "model/workflow_testing.h"

namespace takt::internal {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ClockEpisodesTest : public ClockTest {
  protected:
    bool Given(const char* id) const {
        return std::ranges::any_of(
            assigns, [&](const auto& assign) { return assign.execution.id.view() == id; });
    }
};

// A leader's clock ran ahead and came back; the next leader begins while its own is ahead by less, and
// comes back too.
TEST_F(ClockEpisodesTest, ASecondOneSilencesNoTask) {
    for (const Misfire misfire : {Misfire::kFireOnce, Misfire::kFireAll, Misfire::kSkip}) {
        At(0s, Put({.id = std::string(Name(misfire)),
                    .every = 10s,
                    .options = {.mode = Mode::kParallel, .misfire = misfire, .misfires_max = 5}}));
    }
    At(0s, Put({.id = "hourly", .every = 1h, .options = Parallel()}));
    Until(21s);
    JumpWall(2000s);
    Until(28s);
    JumpWall(-2000s);
    Until(40s);
    JumpWall(1200s);
    Restart(45s);
    Until(52s);
    JumpWall(-1200s);
    Until(10min);

    for (const Misfire misfire : {Misfire::kFireOnce, Misfire::kFireAll, Misfire::kSkip}) {
        const std::string task(Name(misfire));
        EXPECT_EQ(TaskOf(task).state.next_at, kBegin + 10min + 10s) << task;
        for (const auto& [due, count] : Fired(task)) EXPECT_EQ(count, 1) << task;
        // All but those of the seconds in which the clock was ahead.
        EXPECT_THAT(Fired(task).size(), Ge(58u)) << task;
    }
    Until(2h);
    EXPECT_EQ(Fired("hourly").size(), 2u);
}

// The clock is two hours behind what has been fired, and the task is paused for a while: what this
// clock calls due in the pause has its record too.
TEST_F(ClockEpisodesTest, APauseByAClockThatIsBehindLeavesARecord) {
    At(0s, Put({.id = "report", .every = 10s, .options = Parallel()}));
    Until(21s);
    JumpWall(-2h);
    Until(32s);
    At(33s, Pause("report"));
    At(66s, Resume("report"));
    std::vector<std::string> records;
    for (const auto& [id, row] : store.executions) {
        const Execution& record = row.execution;
        if (record.status != Status::kSkipped) continue;
        records.push_back(std::string(Name(record.outcome->reason)) + ": " +
                          record.outcome->message.str());
    }
    EXPECT_THAT(records, ElementsAre("paused: 3 due times up to 2025-12-31T22:01:00.000Z passed "
                                     "while the task was paused"));
    EXPECT_EQ(TaskOf("report").state.missed, 3u);
    EXPECT_EQ(TaskOf("report").state.next_at, kBegin - 2h + 70s);
}

// However clocks are set, in any order, no due time is fired twice, and when they are right again the
// task fires at its times.
TEST_F(ClockEpisodesTest, NoOrderOfThemFiresTwiceOrSilences) {
    const std::vector<Duration> jumps = {-1s, 59s, -61s, 20min, 3h, -2h, 24h * 365, -24h * 370, 1s};
    for (std::size_t first = 0; first < jumps.size(); ++first) {
        const std::string task = "task" + std::to_string(first);
        Duration now = 1h * (first + 1);
        At(now, Put({.id = task, .every = 10s, .options = Parallel()}));
        Duration wrong{0};
        for (std::size_t i = 0; i < 4; ++i) {
            const Duration jump = jumps[(first * 5 + i * 4) % jumps.size()];
            JumpWall(jump);
            wrong += jump;
            now += 35s;
            if (i % 2 == first % 2) {
                Restart(now);
            } else {
                Until(now);
            }
        }
        JumpWall(-wrong);
        now += 1s;
        Until(now);
        const std::size_t before = Fired(task).size();
        Until(now + 20min);
        EXPECT_GE(Fired(task).size(), before + 100) << task;
        for (const auto& [due, count] : Fired(task)) EXPECT_EQ(count, 1) << task;
        At(now + 20min, Drop(task));
    }
}

// A clock that is an hour behind for a moment, on a store that is new: a delay is counted by the steady
// clock of the leader that gave it.
TEST_F(ClockEpisodesTest, ADelayIsNeitherShorterNorLongerHoweverTheClockIsSet) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Once({.id = "delayed", .delay = 10min}));
    At(0s, Once({.id = "retried",
                 .retry = RetryPolicy{.retries_max = 3, .delay = 10min, .jitter = 0}}));
    At(0s, Once({.id = "moment", .run_at = 10min}));
    At(0s, Failure("retried"));
    assigns.clear();
    Duration now = 1s;
    for (const Duration jump : std::vector<Duration>{-1h, 1h, 30s, -30s, 24h, -24h, -1s}) {
        now += 1s;
        JumpWall(jump);
        Until(now);
    }
    JumpWall(1s);
    EXPECT_TRUE(Given("moment")) << "by a clock that was a day ahead";
    assigns.clear();
    Until(10min - 1ms);
    EXPECT_THAT(assigns, IsEmpty());
    Until(10min);
    EXPECT_TRUE(Given("delayed"));
    EXPECT_TRUE(Given("retried"));
}

// The leader that gave the times was ahead since it began, and died so. The next one cannot know, but a
// wait that is told as a while ends, at the latest, so long after this leader began.
TEST_F(ClockEpisodesTest, WhatALeaderThatBeganAheadLeftBehindWaitsAsLongAsItSays) {
    At(0s, Once({.id = "before", .delay = 24h}));
    JumpWall(20h);
    Restart(1s);
    At(1s, Join({.id = "a", .capacity = 10}));
    At(1s, Put({.id = "rate", .every = 10s, .options = Parallel()}));
    At(1s,
       Once({.id = "retried", .retry = RetryPolicy{.retries_max = 3, .delay = 4min, .jitter = 0}}));
    At(2s, Failure("retried"));
    At(2s, Once({.id = "delayed", .delay = 4min}));
    Until(15s);
    JumpWall(-20h);
    Restart(16s);
    At(17s, Join({.id = "a", .capacity = 1000}));
    assigns.clear();
    EXPECT_EQ(CodeOf("delayed"), "not_due");
    Until(4min + 1s);
    EXPECT_FALSE(Given("delayed"));
    EXPECT_FALSE(Given("retried"));
    Until(4min + 17s);
    EXPECT_TRUE(Given("delayed"));
    EXPECT_TRUE(Given("retried"));
    EXPECT_GE(Fired("rate").size(), 23u);
    for (const auto& [due, count] : Fired("rate")) EXPECT_EQ(count, 1);
}

TEST_F(ClockEpisodesTest, AnExplanationNamesTheTimeThatIsWaitedFor) {
    At(0s, Once({.id = "before", .delay = 24h}));
    JumpWall(2h);
    Restart(1s);
    At(1s, Once({.id = "delayed", .delay = 10min}));
    Until(10s);
    JumpWall(-2h);
    Until(11s);
    const auto why =
        engine().Explain(ExecutionId(Text("delayed")), {WallAt(11s), Steady(7h) + 11s});
    ASSERT_TRUE(why);
    EXPECT_EQ(why->code, "not_due");
    EXPECT_THAT(why->sentence, HasSubstr(FormatTime(kBegin + 10min + 1s)));
}

// Somebody changes a task while the clock is ahead for a moment.
TEST_F(ClockEpisodesTest, ATaskThatWasChangedByAClockAheadFiresFromNowOn) {
    At(0s, Put({.id = "unfired", .every = 24h, .options = Parallel()}));
    At(0s, Put({.id = "fired", .every = 1min, .options = Parallel()}));
    At(0s, Put({.id = "idle", .every = 1min, .options = Parallel()}));
    Until(90s);
    JumpWall(2h);
    At(91s, Put({.id = "unfired", .every = 20s, .options = Parallel()}));
    At(91s, Put({.id = "fired", .every = 20s, .options = Parallel()}));
    At(91s, Put({.id = "idle", .every = 7h, .options = Parallel()}));
    Until(2min);
    JumpWall(-2h);
    Until(12min);
    EXPECT_GE(Fired("unfired").size(), 30u);
    EXPECT_GE(Fired("fired").size(), 30u);
    EXPECT_EQ(TaskOf("idle").state.next_at, kBegin + 7h);
}

// The due times of an outage are on record. A clock that goes back into that time for a minute fires
// what is due by it, and nothing of the rest when it is right again.
TEST_F(ClockEpisodesTest, WhatIsOnRecordAsMissedIsNotMadeUpForAfterAStepBack) {
    At(0s, Put({.id = "minutely",
                .every = 1min,
                .options = {
                    .mode = Mode::kParallel, .misfire = Misfire::kFireAll, .misfires_max = 3}}));
    Until(1min);
    Restart(2h);
    Until(2h + 30min);
    const std::size_t before = Fired("minutely").size();
    JumpWall(-1h);
    Until(2h + 31min);
    JumpWall(1h);
    Until(2h + 32min);
    EXPECT_LE(Fired("minutely").size(), before + 4);
    for (const auto& [due, count] : Fired("minutely")) EXPECT_EQ(count, 1);
}

// Somebody pauses a task that makes up for its pauses while the clock is a day ahead.
TEST_F(ClockEpisodesTest, ATaskThatIsResumedAfterTheClockCameBackIsNotSilent) {
    At(0s, Put({.id = "catches_up",
                .every = 1min,
                .options = {.mode = Mode::kParallel, .catch_up_after_pause = true}}));
    Until(90s);
    JumpWall(24h);
    Until(3min);
    At(3min, PauseTask{.task = TaskId("catches_up"), .paused = true});
    JumpWall(-24h);
    Until(4min);
    At(4min, PauseTask{.task = TaskId("catches_up"), .paused = false});
    Until(10min);
    EXPECT_GE(Fired("catches_up").size(), 6u);
    for (const auto& [due, count] : Fired("catches_up")) EXPECT_EQ(count, 1);
}

// Somebody gives a paused task other times while the clock is ahead. A later change by the right clock,
// and resuming is one, does not hide that its next due time is by the wrong one.
TEST_F(ClockEpisodesTest, APausedTaskThatWasChangedByAClockAheadIsNotSilentWhenResumed) {
    const TaskOptions options{.mode = Mode::kParallel, .catch_up_after_pause = true};
    for (const char* id : {"resumed", "renamed"}) {
        At(0s, Put({.id = id, .every = 24h, .options = options}));
        At(0s, Pause(id));
    }
    JumpWall(1h);
    for (const char* id : {"resumed", "renamed"}) {
        At(30s, Put({.id = id, .every = 20s, .options = options}));
    }
    JumpWall(-1h);
    At(1min, Put({.id = "renamed", .every = 20s, .payload = "new", .options = options}));
    for (const char* id : {"resumed", "renamed"}) {
        At(2min, Resume(id));
        EXPECT_EQ(TaskOf(id).state.next_at, kBegin + 2min + 20s) << id;
    }
    Until(10min);
    for (const char* id : {"resumed", "renamed"}) EXPECT_EQ(Fired(id).size(), 24u) << id;
}

// New times have due times before the first that they fired. A clock goes back to the middle of them,
// and the task is paused there for hours: all that follow are made up for or on record, however old.
TEST_F(ClockEpisodesTest, WhatIsLongPastIsNotForgottenWhileItIsMadeUpFor) {
    const TaskOptions options{.mode = Mode::kParallel, .catch_up_after_pause = true};
    At(0s, Put({.every = 1h, .options = options}));
    At(90min, Put({.every = 10s, .options = options}));
    Until(90min + 11s);
    JumpWall(-20min);
    At(90min + 22s, Pause("report"));
    ASSERT_EQ(TaskOf("report").state.next_at, kBegin + 70min + 30s);
    JumpWall(20min);
    At(5h + 1s, Resume("report"));
    Until(5h + 2s);
    std::vector<Duration> fired;
    for (const auto& [due, count] : Fired()) fired.push_back(due - kBegin);
    // Of several the last: those before the first that the new times fired and those after it are one.
    EXPECT_THAT(fired, ElementsAre(1h, 70min + 20s, 90min + 10s, 5h));
    EXPECT_EQ(TaskOf("report").state.missed, 118u + 1258u);
}

// A machine is five hours ahead until NTP is there, and leads meanwhile.
TEST_F(ClockEpisodesTest, ALeaderThatBeginsAheadEndsNoRunForItsTime) {
    At(0s, Join({.id = "a", .capacity = 10}));
    Submit run = Once({.id = "run", .type = ""});
    auto options = std::make_unique<TaskOptions>(run.task->opt());
    options->workflow = MakeWorkflow({{"a"}});
    run.task->timeout = 1h;
    run.task->options = std::move(options);
    At(0s, std::move(run));
    Until(10min);
    JumpWall(5h);
    Restart(10min + 1s);
    Until(11min);
    EXPECT_EQ(StatusOf("run"), Status::kRunning);
}

// The battery of a machine's clock is empty: it begins in 2000, and NTP sets it.
TEST_F(ClockEpisodesTest, AClockThatBeginsYearsBehindMakesUpForNothingOfThatTime) {
    for (const Misfire misfire : {Misfire::kFireOnce, Misfire::kFireAll}) {
        At(0s,
           Put({.id = std::string(Name(misfire)),
                .every = 1h,
                .options = {.mode = Mode::kParallel, .misfire = misfire, .misfires_max = 100}}));
    }
    Until(90min);
    JumpWall(-24h * 365 * 26);
    Restart(100min);
    Until(101min);
    JumpWall(24h * 365 * 26);
    Until(10h);
    for (const Misfire misfire : {Misfire::kFireOnce, Misfire::kFireAll}) {
        EXPECT_EQ(Fired(std::string(Name(misfire))).size(), 10u) << Name(misfire);
    }
}

}  // namespace
}  // namespace takt::internal
