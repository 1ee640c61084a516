// Due times that passed while nobody could fire them.
#include "base/log.h"
#include "engine/history.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class MisfireTest : public History {
  protected:
    static RecurringSpec EverySecond(Misfire misfire) {
        return {.every = 1s, .options = {.mode = Mode::kParallel, .misfire = misfire}};
    }
    // Run, skipped or missed: every due time up to the last one is accounted for.
    std::uint64_t Accounted() {
        const FireState& state = TaskOf("report").state;
        return state.fires + state.missed;
    }
};

// A night of downtime: one report in the morning, not one for each hour.
TEST_F(MisfireTest, FireOnceFiresTheLastAndRecordsTheOthersAsMissed) {
    At(0s, Put(EverySecond(Misfire::kFireOnce)));
    Down(10500ms);
    Until(10500ms);

    EXPECT_THAT(DueOf("report", Status::kPending), ElementsAre(10'000));
    EXPECT_THAT(DueOf("report", Status::kSkipped), ElementsAre(1'000));
    EXPECT_EQ(RunsOf("report")[0]->outcome->reason, Reason::kMissed);
    EXPECT_THAT(RunsOf("report")[0]->outcome->message.str(), HasSubstr("9 due times"));
    EXPECT_EQ(Accounted(), 10u);
    Until(11s);
    EXPECT_THAT(DueOf("report", Status::kPending), ElementsAre(10'000, 11'000));
}

// The machine of the new leader has no tzdata, until somebody installs it.
TEST_F(MisfireTest, ATaskWhoseTimeZoneCannotBeReadLosesNoDueTime) {
    const LogCapture log;
    At(0s, Put(EverySecond(Misfire::kFireOnce)));
    Until(2s);
    const TaskRow good = TaskOf("report");
    auto broken = NewTaskPtr(new Task(*good.task));
    auto options = std::make_unique<TaskOptions>(good.task->opt());
    options->recurrence->timezone = "Nowhere/At_all";
    broken->options = std::move(options);
    store.tasks[TaskId("report")].task = broken;
    Restart(2500ms);
    Until(3min);
    EXPECT_EQ(TaskOf("report").state.next_at, good.state.next_at);
    EXPECT_EQ(Accounted(), 2u);
    EXPECT_THAT(log.lines(), ElementsAre(HasSubstr("task=report")));

    store.tasks[TaskId("report")].task = good.task;
    Restart(3min + 500ms);
    Until(3min + 500ms);

    EXPECT_EQ(Accounted(), 180u);
    EXPECT_EQ(TaskOf("report").state.next_at, kBegin + 3min + 1s);
}

TEST_F(MisfireTest, FireAllFiresEachAndNoMoreThanItsCap) {
    RecurringSpec spec = EverySecond(Misfire::kFireAll);
    spec.options.misfires_max = 4;
    At(0s, Put(spec));
    Down(10500ms);
    Until(10500ms);

    EXPECT_THAT(DueOf("report", Status::kPending), ElementsAre(1'000, 2'000, 3'000, 4'000));
    EXPECT_THAT(DueOf("report", Status::kSkipped), ElementsAre(5'000));
    EXPECT_EQ(Accounted(), 10u);
    Until(11s);
    EXPECT_THAT(DueOf("report", Status::kPending), SizeIs(5));
}

// One more than the cap, one less, and just as many.
TEST_F(MisfireTest, FireAllFiresAsManyAsItsCapHoweverManyAreOverdue) {
    for (const int overdue : {2, 3, 4, 5}) {
        RecurringSpec spec = EverySecond(Misfire::kFireAll);
        spec.id = std::to_string(overdue);
        spec.start_at = Duration(10'000 - 1'000 * overdue);
        spec.options.misfires_max = 3;
        At(0s, Put(spec));
    }
    Down(9500ms);
    Until(9500ms);

    const auto fired = [&](const std::string& id) { return TaskOf(id).state.fires; };
    const auto missed = [&](const std::string& id) { return TaskOf(id).state.missed; };
    EXPECT_THAT(std::vector({fired("2"), fired("3"), fired("4"), fired("5")}),
                ElementsAre(2, 3, 3, 3));
    EXPECT_THAT(std::vector({missed("2"), missed("3"), missed("4"), missed("5")}),
                ElementsAre(0, 0, 1, 2));
}

// The new leader begins at the very second of the fourth.
TEST_F(MisfireTest, FireAllDoesNotCountWhatIsOnTime) {
    RecurringSpec spec = EverySecond(Misfire::kFireAll);
    spec.options.misfires_max = 3;
    At(0s, Put(spec));
    Down(4s);
    Until(9s);

    EXPECT_EQ(TaskOf("report").state.fires, 9u);
    EXPECT_EQ(TaskOf("report").state.missed, 0u);
}

TEST_F(MisfireTest, SkipFiresOnlyWhatIsHardlyLate) {
    config.misfire_tolerance = 2s;
    At(0s, Put(EverySecond(Misfire::kSkip)));
    Down(10500ms);
    Until(10500ms);

    EXPECT_THAT(DueOf("report", Status::kPending), ElementsAre(9'000, 10'000));
    EXPECT_THAT(DueOf("report", Status::kSkipped), ElementsAre(1'000));
    EXPECT_EQ(Accounted(), 10u);
}

// A reminder is worth nothing half an hour later.
TEST_F(MisfireTest, AStartDeadlineDropsWhatIsLaterThanThat) {
    RecurringSpec spec = EverySecond(Misfire::kFireAll);
    spec.options.start_deadline = 3s;
    At(0s, Put(spec));
    At(0s, Put({.id = "daily", .cron = "0 1 * * *", .options = {.start_deadline = 10min}}));
    Down(10500ms);
    Until(10500ms);
    EXPECT_THAT(DueOf("report", Status::kPending), ElementsAre(8'000, 9'000, 10'000));
    Down(2h);
    Until(2h);

    EXPECT_THAT(DueOf("daily", Status::kSkipped), ElementsAre(Duration(1h).count()));
    EXPECT_EQ(TaskOf("daily").state.next_at, kBegin + 25h);
}

// A long weekend without a scheduler.
TEST_F(MisfireTest, ThreeDaysOfMissedSecondsCostOneRecord) {
    for (const Misfire misfire : {Misfire::kFireOnce, Misfire::kSkip}) {
        RecurringSpec spec = EverySecond(misfire);
        spec.id = std::string(Name(misfire));
        At(0s, Put(spec));
    }
    At(0s, Put({.id = "cron", .cron = "* * * * * *", .options = {.mode = Mode::kParallel}}));
    Down(72h);
    Until(72h);

    for (const std::string task : {"fire_once", "skip", "cron"}) {
        EXPECT_THAT(DueOf(task, Status::kSkipped), SizeIs(1)) << task;
        EXPECT_THAT(RunsOf(task)[0]->outcome->message.str(), HasSubstr("25919"));
        EXPECT_EQ(TaskOf(task).state.next_at, kBegin + 72h + 1s) << task;
    }
    EXPECT_THAT(DueOf("cron", Status::kPending), ElementsAre(Duration(72h).count()));
    EXPECT_THAT(DueOf("fire_once", Status::kPending), ElementsAre(Duration(72h).count()));
    EXPECT_LE(changes_in_largest_step(), config.changes_per_step + 4);
}

// Ten thousand due times lie between the first and the last few of a task that fires at night.
TEST_F(MisfireTest, ATaskThatFiresEverySecondOfOneHourADayCostsOneRecordToo) {
    At(0s, Put({.cron = "* * 3 * * *", .options = {.mode = Mode::kParallel}}));
    Down(30 * 24h);
    Until(30 * 24h);

    EXPECT_THAT(DueOf("report", Status::kSkipped), SizeIs(1));
    EXPECT_THAT(DueOf("report", Status::kPending),
                ElementsAre(Duration(29 * 24h + 4h - 1s).count()));
}

// A fixed delay has no due times that could pile up.
TEST_F(MisfireTest, AFixedDelayThatIsLateFiresOnceOrIsMissedOnce) {
    At(0s, Put({.id = "once", .after_end = 1s, .start_at = 1min}));
    At(0s, Put({.id = "skip",
                .after_end = 1h,
                .start_at = 1min,
                .options = {.misfire = Misfire::kSkip}}));
    Down(72h);
    Until(72h);
    EXPECT_THAT(DueOf("once", std::nullopt), ElementsAre(60'000));
    EXPECT_THAT(DueOf("skip", Status::kSkipped), ElementsAre(60'000));
    Until(73h);

    EXPECT_THAT(DueOf("skip", std::nullopt), ElementsAre(60'000, Duration(73h).count()));
}

// A run that expires before it can start ends at once; a fixed delay must not go through days of
// them.
TEST_F(MisfireTest, AFixedDelayWhoseRunsEndAtOnceDoesNotMakeUpForThePast) {
    config.pending_max = 0;
    At(0s, Put({.after_end = 1s, .start_at = 1min}));
    Down(72h);
    Until(72h + 2s);

    EXPECT_THAT(RunsOf("report"), SizeIs(3));
}

// --- The wall clock -----------------------------------------------------------------------------

TEST_F(MisfireTest, AClockSetForwardIsDowntime) {
    At(0s, Put({.every = 1min, .options = {.mode = Mode::kParallel}}));
    Until(90s);
    JumpWall(1h);
    Until(2min);

    EXPECT_EQ(TaskOf("report").state.fires, 2u + 1u);
    EXPECT_EQ(TaskOf("report").state.missed, 59u);
}

// Set back, the clock shows times again that were fired already.
TEST_F(MisfireTest, AClockSetBackFiresNothingTwice) {
    At(0s, Put({.every = 1min, .options = {.mode = Mode::kParallel}}));
    Until(2h);
    JumpWall(-1h);
    Until(2h + 59min);
    EXPECT_THAT(RunsOf("report"), SizeIs(120));
    Until(3h + 1min);

    const auto due = DueOf("report", std::nullopt);
    EXPECT_THAT(due, SizeIs(121));
    EXPECT_EQ(std::set(due.begin(), due.end()).size(), due.size());
}

// The clock was ten minutes ahead and is put right; then somebody pauses the task for a while.
TEST_F(MisfireTest, APauseAfterAClockSetBackFiresNothingTwice) {
    At(0s, Put({.every = 1min, .options = {.mode = Mode::kParallel}}));
    Until(30min);
    JumpWall(-10min);
    At(31min, Pause("report"));
    At(32min, Resume("report"));
    Until(45min);

    const auto due = DueOf("report", std::nullopt);
    EXPECT_EQ(std::set(due.begin(), due.end()).size(), due.size());
    EXPECT_EQ(due.size(), 35u);
}

// The leader's clock was ahead: it fired the last due time early and died. The clock of the next
// one is right and shows times before the task's end again.
TEST_F(MisfireTest, ATaskThatIsOverIsNotFiredAgainByALeaderWhoseClockIsBehind) {
    At(0s, Put({.every = 1min, .end_at = 10min, .options = {.mode = Mode::kParallel}}));
    Until(4min);
    JumpWall(5min + 30s);
    Until(5min);
    ASSERT_EQ(TaskOf("report").state.next_at, Time{});
    At(5min, Join({.id = "a", .capacity = 100}));
    FinishAll(5min);
    JumpWall(-(5min + 30s));
    Restart(5min);
    Until(20min);

    // The due times that the clock passed over come, the one that it fired early does not come
    // again.
    EXPECT_THAT(DueOf("report", Status::kSuccess),
                ElementsAre(60'000, 120'000, 180'000, 240'000, 540'000));
    EXPECT_THAT(DueOf("report", Status::kPending), ElementsAre(360'000, 420'000, 480'000));
}

// The scheduler was down; before it has caught up somebody pauses the task. What it would have made
// up for is not forgotten.
TEST_F(MisfireTest, WhatIsOverdueWhenATaskIsPausedIsOnRecordAsMissed) {
    At(0s, Put({.every = 1min}));
    Until(90s);
    Down(10min + 30s);
    tick_between = false;
    At(10min + 30s, Pause("report"));
    tick_between = true;
    At(20min + 30s, Resume("report"));
    Until(21min);

    EXPECT_EQ(TaskOf("report").state.missed, 9u + 10u);
    EXPECT_THAT(DueOf("report", Status::kSkipped), ElementsAre(120'000, 11 * 60'000));
    ASSERT_THAT(RunsOf("report"), SizeIs(4));
    EXPECT_EQ(RunsOf("report")[1]->outcome->reason, Reason::kMissed);
    EXPECT_EQ(RunsOf("report")[2]->outcome->reason, Reason::kPaused);
    EXPECT_THAT(DueOf("report", Status::kPending), ElementsAre(60'000, 21 * 60'000));
}

TEST_F(MisfireTest, WithoutToleranceWhatIsOnTimeIsFired) {
    config.misfire_tolerance = 0s;
    At(0s, Put(EverySecond(Misfire::kSkip)));
    Until(10s);
    EXPECT_EQ(TaskOf("report").state.fires, 10u);
    EXPECT_EQ(TaskOf("report").state.missed, 0u);
}

}  // namespace
}  // namespace takt::internal
