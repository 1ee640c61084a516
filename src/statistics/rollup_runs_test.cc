// Runs of workflows and their steps in the statistics.
#include <gtest/gtest.h>

#include "model/workflow_testing.h"
#include "statistics/report.h"
#include "statistics/rollup.h"

namespace takt::internal {
namespace {

Execution EndedRow(bool run) {
    NewTaskPtr task(new Task);
    task->id = TaskId("flow");
    task->name = "flow";
    if (run) {
        auto options = std::make_unique<TaskOptions>();
        options->workflow = MakeWorkflow({{"a"}});
        task->options = std::move(options);
    } else {
        task->type = "part";
    }
    Execution row;
    row.id = ExecutionId("e");
    row.task = task;
    row.status = Status::kSuccess;
    row.origin = run ? Origin::kFire : Origin::kStep;
    if (!run) row.worker = WorkerId("w");
    row.finished_at = *ParseTime("2026-11-15T12:00:00Z");
    return row;
}

// A run of ten steps is one run, and ten executions for those who ran them.
TEST(RollupRunsTest, ARunAndItsStepsAreNeverInOneNumber) {
    Rollup rollup;
    rollup.Add(EndedRow(true));
    for (int i = 0; i < 10; ++i) rollup.Add(EndedRow(false));
    const auto total = [&](ReportBy by) {
        ReportQuery query{.by = by};
        query.from = *ParseTime("2026-11-14T00:00:00Z");
        query.to = *ParseTime("2026-11-17T00:00:00Z");
        StatisticsReport report(query);
        for (const Rollup::Row& row : rollup.Rows()) EXPECT_TRUE(report.Add(row.row));
        std::uint64_t sum = 0;
        for (const ReportLine& line : report.Finish()) sum += line.cell->total();
        return sum;
    };
    EXPECT_EQ(total(ReportBy::kDay), 1u);
    EXPECT_EQ(total(ReportBy::kTask), 1u);
    EXPECT_EQ(total(ReportBy::kType), 10u);
    EXPECT_EQ(total(ReportBy::kWorker), 10u);
}

}  // namespace
}  // namespace takt::internal
