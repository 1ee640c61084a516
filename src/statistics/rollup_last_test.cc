// How each task ended last.
#include <gtest/gtest.h>

#include "statistics/report.h"
#include "statistics/rollup.h"

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

const Time kMidday = *ParseTime("2026-11-15T12:00:00Z");

Execution RowThatEnded(Status status, Time at) {
    NewTaskPtr task(new Task);
    task->id = TaskId("nightly");
    task->name = "Nightly";
    task->type = "report";
    Execution row;
    row.id = ExecutionId("e");
    row.task = task;
    row.status = status;
    row.origin = Origin::kFire;
    row.finished_at = at;
    return row;
}

// The list of tasks tells how each ended last, also after the leader has changed.
TEST(RollupLastTest, TheLastEndIsKnownToTheNextLeader) {
    const Day day = std::chrono::floor<std::chrono::days>(kMidday);
    Rollup first;
    first.Add(RowThatEnded(Status::kFailed, kMidday + 1h));
    first.Add(RowThatEnded(Status::kSuccess, kMidday));       // Reported late: it ended before.
    first.Add(RowThatEnded(Status::kSkipped, kMidday + 2h));  // Dropped: it has no result.
    ASSERT_EQ(first.TakeNew().size(), 1u);
    ASSERT_TRUE(first.Load(day, {}));

    Rollup second;
    second.Add(RowThatEnded(Status::kSuccess, kMidday - 1h));
    ASSERT_TRUE(second.Load(day, first.TakeChanged()));

    StatisticsReport report({.by = ReportBy::kTask, .from = kMidday - 48h, .to = kMidday + 48h});
    for (const Rollup::Row& row : second.Rows()) ASSERT_TRUE(report.Add(row.row));
    const auto tasks = report.Finish();
    ASSERT_EQ(tasks.size(), 1u);
    EXPECT_EQ(tasks[0].cell->last_status, Status::kFailed);
    EXPECT_EQ(tasks[0].cell->last_at, kMidday + 1h);
}

}  // namespace
}  // namespace takt::internal
