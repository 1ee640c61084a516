#include "alerts/late_runs.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

const Time kStart = *ParseTime("2026-11-15T02:00:00Z");

// A scheduler with one recurring task, "nightly", every hour from 03:00.
class LateRunsTest : public ::testing::Test {
  protected:
    LateRunsTest() : engine(std::make_unique<Engine>(EngineConfig{}, TermView{}, SeedOf(1))) {
        engine->Begin(0, now, effects);
        NewTaskPtr task(new Task);
        task->id = TaskId("nightly");
        task->name = "Nightly report";
        task->type = "report";
        task->queue = "default";
        auto options = std::make_unique<TaskOptions>();
        options->recurrence = Recurrence{.every = 1h, .start_at = kStart + 1h};
        options->misfire = Misfire::kSkip;
        task->options = std::move(options);
        Step(PutTask{.task = std::move(task)});
        Step(LookupDone{.ids = {ExecutionId("nightly")}, .found = {std::nullopt}});
    }

    void Step(Input input) {
        engine->Step(std::move(input), now, effects);
        for (const Change& change : effects.changes) {
            const auto* execution = std::get_if<ExecutionChange>(&change);
            if (execution) late.Note(execution->row);
        }
        assigns.insert(assigns.end(), effects.assigns.begin(), effects.assigns.end());
        const auto generation = effects.generation + 1;
        effects = {};
        effects.generation = generation;
    }
    // Time passes; the engine looks, or is stuck.
    void Pass(Duration time, bool fires = true) {
        now.wall += time;
        now.steady += time;
        if (fires) Step(Tick{});
    }
    void AttachWorker() {
        Worker worker;
        worker.id = WorkerId("w");
        Step(Attach{.session = ++session, .worker = std::move(worker)});
    }
    void Begin() {
        ASSERT_FALSE(assigns.empty());
        const Execution& run = assigns.back().execution;
        Step(Started{.session = session, .attempt = {run.id, run.attempt, run.token}});
    }
    void End() {
        const Execution& run = assigns.back().execution;
        Step(Report{
            .session = session, .attempt = {run.id, run.attempt, run.token}, .success = true});
    }
    // How late "nightly" is; nothing if it is not.
    std::optional<double> Late() {
        AlertReadings readings;
        late.Read(*engine, now.wall, readings);
        if (readings.empty()) return std::nullopt;
        note = readings[0].note.str();
        settled = readings[0].settled;
        return readings[0].value;
    }

    Instant now{kStart, Steady(1h)};
    Effects effects;
    std::unique_ptr<Engine> engine;
    LateRuns late;
    std::vector<Assign> assigns;
    SessionId session = 0;
    std::string note;
    bool settled = false;
};

// Its time came, the worker was there: nothing to tell.
TEST_F(LateRunsTest, ARunInTimeIsNotLate) {
    Pass(59min + 55s);
    AttachWorker();
    Pass(5s);
    Begin();
    EXPECT_FALSE(Late());
}

// The leader hangs: the due time passes and nobody fires.
TEST_F(LateRunsTest, WhatIsNotFiredGetsLater) {
    Pass(1h + 90s, false);
    EXPECT_EQ(Late(), 90);
    EXPECT_NE(note.find("'Nightly report' due at 2026-11-15T03:00:00.000Z was not fired"),
              std::string::npos)
        << note;
}

// It was fired, but no worker is there.
TEST_F(LateRunsTest, WhatWaitsForAWorkerGetsLaterUntilItBegins) {
    Pass(1h);
    Pass(2min);
    EXPECT_EQ(Late(), 120);
    EXPECT_FALSE(settled);
    AttachWorker();
    Begin();
    EXPECT_EQ(Late(), 120) << "it began later than allowed, and that stays said";
    EXPECT_TRUE(settled);
    End();
    EXPECT_EQ(Late(), 120);
    Pass(57min + 55s);
    AttachWorker();
    Pass(5s);
    Begin();
    EXPECT_FALSE(Late()) << "the next one was in time";
}

// The scheduler was down, and the misfire policy drops what is overdue.
TEST_F(LateRunsTest, AMissedRunIsLateUntilALaterOneBegins) {
    Pass(1h + 10min, false);
    Step(Tick{});
    EXPECT_EQ(Late(), 600) << note;
    EXPECT_NE(note.find("did not happen"), std::string::npos) << note;
    Pass(49min + 55s);
    AttachWorker();
    EXPECT_TRUE(Late());
    Pass(5s);
    Begin();
    EXPECT_FALSE(Late());
}

// The nightly run was missed; whoever sees the alert runs it by hand.
TEST_F(LateRunsTest, ARunThatIsTriggeredMakesUpForAMissedOne) {
    Pass(1h + 10min, false);
    Step(Tick{});
    ASSERT_EQ(Late(), 600);
    Step(Trigger{.task = TaskId("nightly")});
    EXPECT_EQ(Late(), 600) << "it has not begun";
    AttachWorker();
    Begin();
    EXPECT_FALSE(Late());
    End();
    EXPECT_FALSE(Late());
}

// A run triggered before the due time goes on when that one is missed.
TEST_F(LateRunsTest, ARunTriggeredBeforeTheDueTimeMakesUpForNothing) {
    AttachWorker();
    Step(Trigger{.task = TaskId("nightly")});
    Begin();
    Pass(1h + 10min, false);
    Step(Tick{});
    ASSERT_EQ(Late(), 600);
    AttachWorker();
    Begin();
    End();
    EXPECT_EQ(Late(), 600);
}

// A leader told of a missed run and died; its successor has only the alert to go by.
TEST_F(LateRunsTest, AnAdoptedAlertStaysUntilALaterRunBegins) {
    late.Adopt(Text("nightly"), kStart - 1h, 0s);
    EXPECT_EQ(Late(), 3600);
    EXPECT_NE(note.find("did not happen"), std::string::npos) << note;
    Pass(59min + 55s);
    AttachWorker();
    Pass(5s);
    Begin();
    EXPECT_FALSE(Late());
}

// The run began two minutes late and is long over when another leader takes over.
TEST_F(LateRunsTest, AnAdoptedRunThatBeganLateIsNotSaidNotToHaveHappened) {
    late.Adopt(Text("nightly"), kStart - 1h, 2min);
    EXPECT_EQ(Late(), 120);
    EXPECT_NE(note.find("began 2m late"), std::string::npos) << note;
    EXPECT_TRUE(settled);
}

TEST_F(LateRunsTest, AnAdoptedAlertOfATaskThatIsGoneIsOver) {
    late.Adopt(Text("deleted"), kStart - 1h, 0s);
    EXPECT_FALSE(Late());
}

// A task that somebody paused is not late.
TEST_F(LateRunsTest, APausedTaskIsNeverLate) {
    Step(PauseTask{.task = TaskId("nightly"), .paused = true});
    Pass(5h);
    EXPECT_FALSE(Late());
}

// A run that became due in a pause is on record as not run; that was somebody's wish.
TEST_F(LateRunsTest, AResumedTaskIsNotLateWithWhatItsPauseHeldBack) {
    Step(PauseTask{.task = TaskId("nightly"), .paused = true});
    Pass(5h);
    Step(PauseTask{.task = TaskId("nightly"), .paused = false});
    ASSERT_EQ(engine->FindTask(TaskId("nightly"))->row.state.missed, 5u);
    Pass(10min);
    EXPECT_FALSE(Late());
}

// The task is not needed any more, so somebody pauses it: its alert must end with that.
TEST_F(LateRunsTest, PausingATaskForgetsWhatItWasLateWith) {
    Pass(1h + 10min, false);
    Step(Tick{});
    ASSERT_EQ(Late(), 600);
    Step(PauseTask{.task = TaskId("nightly"), .paused = true});
    EXPECT_FALSE(Late());
    Step(PauseTask{.task = TaskId("nightly"), .paused = false});
    EXPECT_FALSE(Late()) << "nor does it come back";
}

// It was fired and waits for a worker when the task is paused.
TEST_F(LateRunsTest, APausedTaskIsNotLateWithWhatWaits) {
    Pass(1h);
    Pass(2min);
    ASSERT_EQ(Late(), 120);
    Step(PauseTask{.task = TaskId("nightly"), .paused = true});
    EXPECT_FALSE(Late());
}

// A follower has nothing but the rows.
TEST_F(LateRunsTest, AFollowerSeesWhatWasNotFiredAfterTheLeadersGrace) {
    const TaskRow row = engine->FindTask(TaskId("nightly"))->row;
    AlertReadings readings;
    LateRuns::ReadRows({row}, kStart + 1h + 30s, 30s, readings);
    EXPECT_TRUE(readings.empty());
    LateRuns::ReadRows({row}, kStart + 1h + 100s, 30s, readings);
    ASSERT_EQ(readings.size(), 1u);
    EXPECT_EQ(readings[0].value, 70);
    EXPECT_EQ(readings[0].occasion, kStart + 1h);
    TaskRow paused = row;
    paused.state.paused = true;
    readings.clear();
    LateRuns::ReadRows({paused}, kStart + 5h, 30s, readings);
    EXPECT_TRUE(readings.empty());
}

}  // namespace
}  // namespace takt::internal
