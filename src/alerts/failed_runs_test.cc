#include "alerts/failed_runs.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

const Time kNoon = *ParseTime("2026-11-15T12:00:00Z");

ExecutionChange Ended(const char* task, Time at, Status status = Status::kFailed) {
    NewTaskPtr made(new Task);
    made->id = TaskId(Text(task));
    made->name = Text(std::string("The ") + task);
    ExecutionChange change{.before = Place::kLive, .after = Place::kHistory};
    change.row.task = std::move(made);
    change.row.origin = Origin::kFire;
    change.row.status = status;
    change.row.finished_at = at;
    return change;
}

// An operator wants to hear of one task that fails, whatever the other thousand do.
TEST(FailedRunsTest, AreCountedByTaskForFiveMinutes) {
    FailedRuns runs;
    runs.Note(Ended("a", kNoon));
    runs.Note(Ended("a", kNoon + 1min));
    runs.Note(Ended("b", kNoon + 2min));
    runs.Note(Ended("b", kNoon + 2min, Status::kSuccess));
    AlertReadings readings;
    runs.Read(kNoon + 3min, readings);
    ASSERT_EQ(readings.size(), 2u);
    EXPECT_EQ(readings[0].subject, Text("a"));
    EXPECT_EQ(readings[0].subject_name, Text("The a"));
    EXPECT_EQ(readings[0].value, 2);
    EXPECT_EQ(readings[1].value, 1);
    readings.clear();
    runs.Read(kNoon + 5min, readings);
    ASSERT_EQ(readings.size(), 2u);
    EXPECT_EQ(readings[0].value, 1) << "the first is five minutes old";
    readings.clear();
    runs.Read(kNoon + 7min, readings);
    EXPECT_TRUE(readings.empty());
}

TEST(FailedRunsTest, OneOffsStepsAndRowsThatOnlyMoveAreNotCounted) {
    FailedRuns runs;
    ExecutionChange once = Ended("a", kNoon);
    once.row.origin = Origin::kOnce;
    runs.Note(once);
    ExecutionChange step = Ended("a", kNoon);
    step.row.parent = ExecutionId(Text("run"));
    runs.Note(step);
    ExecutionChange again = Ended("a", kNoon);
    again.before = Place::kHistory;
    runs.Note(again);
    AlertReadings readings;
    runs.Read(kNoon, readings);
    EXPECT_TRUE(readings.empty());
}

TEST(FailedRunsTest, AStormFillsNoMemory) {
    FailedRuns runs;
    for (std::size_t i = 0; i < FailedRuns::kFailuresMax + 10; ++i) runs.Note(Ended("a", kNoon));
    AlertReadings readings;
    runs.Read(kNoon, readings);
    EXPECT_EQ(readings.at(0).value, static_cast<double>(FailedRuns::kFailuresMax));
}

}  // namespace
}  // namespace takt::internal
