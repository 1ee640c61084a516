// Histories of backfills: past due times of a recurring task, each made once.
#include "base/failpoint.h"
#include "engine/flow_fixture.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;

class BackfillTest : public FlowHistory {
  protected:
    void SetUp() override { ASSERT_TRUE(StartFailPoints()); }

    // As the API asks for it: the due times, in milliseconds since the history began.
    Submit Backfill(const std::string& run, const std::vector<std::int64_t>& due) {
        std::string list;
        for (const std::int64_t at : due) {
            list += (list.empty() ? "" : ",") +
                    std::to_string((kBegin + Duration(at)).time_since_epoch().count());
        }
        WorkflowStep step =
            MakeStep({.name = "backfill", .for_each = "[" + list + "]", .named = "report"});
        step.backfill = true;
        step.parallel_max = 2;
        return Flow(
            {.id = run,
             .workflow = Workflow::Make({step}, {.on_failure = OnFailure::kContinue}).value()});
    }
    std::string IdOf(std::int64_t due) const {
        return BackfillId(TaskId("report"), kBegin + Duration(due)).text().str();
    }
    // A task that is due every ten seconds is paused after the first, the fourth is backfilled, and
    // then it catches up. Which due times were fired, in seconds.
    std::vector<int> FiredAroundABackfill(Misfire misfire) {
        RecurringSpec spec{.id = "report", .every = 10s};
        spec.options = {.mode = Mode::kParallel, .misfire = misfire, .misfires_max = 1};
        spec.options.catch_up_after_pause = true;
        At(0ms, Put(spec));
        At(0ms, Join({.id = "w", .capacity = 50}));
        At(11s, Pause("report"));
        At(65s, Backfill("past", {40'000}));
        At(66s, Resume("report"));
        Until(67s);
        std::vector<int> fired;
        for (const Execution* run : RunsOf("report")) {
            if (run->status == Status::kSkipped || run->origin != Origin::kFire) continue;
            fired.push_back(int((run->scheduled_at - kBegin) / 1s));
        }
        return fired;
    }
};

TEST_F(BackfillTest, PastDueTimesAreRunOnceHoweverOftenTheyAreAskedFor) {
    RecurringSpec spec{.id = "report", .every = 8760h, .payload = R"({"x": 1})"};
    spec.options.mode = Mode::kParallel;
    At(0ms, Put(spec));
    At(0ms, Join({.id = "w", .capacity = 5}));
    At(10s, Backfill("first", {1'000, 2'000, 3'000}));
    EXPECT_THAT(AssignedIds(), ElementsAre(IdOf(1'000), IdOf(2'000)));
    const Execution& child = Row(IdOf(2'000));
    EXPECT_EQ(child.origin, Origin::kBackfill);
    EXPECT_EQ(child.scheduled_at, kBegin + 2s);
    EXPECT_EQ(child.task->id.text(), "report");
    EXPECT_EQ(child.input(), R"({"x": 1})");
    At(11s, Success(IdOf(1'000)));
    At(12s, Backfill("second", {1'000, 2'000, 3'000, 4'000}));
    EXPECT_TRUE(Exists(IdOf(4'000)));
    At(13s, Success(IdOf(4'000)));
    EXPECT_EQ(StatusOf("second"), Status::kSuccess) << "what exists is not made again";
    Restart(14s);
    At(15s, Join({.id = "w", .capacity = 5, .holding = {RefOf(IdOf(2'000)), RefOf(IdOf(3'000))}}));
    At(16s, Success(IdOf(2'000)));
    At(17s, Success(IdOf(3'000)));
    EXPECT_EQ(StatusOf("first"), Status::kSuccess);
    EXPECT_EQ(assigns.size(), 4);
    At(18s, Backfill("third", {1'000, 2'000}));
    Until(19s);
    EXPECT_EQ(StatusOf("third"), Status::kSuccess);
    EXPECT_EQ(assigns.size(), 4);
}

// An operator makes up for a weekend in which the task was paused, and later lets it catch up as well.
TEST_F(BackfillTest, WhatABackfillRanIsNotCaughtUpWithAfterThePause) {
    RecurringSpec spec{.id = "report", .every = 10s};
    spec.options.mode = Mode::kParallel;
    spec.options.misfire = Misfire::kFireAll;
    At(0ms, Put(spec));
    At(0ms, Join({.id = "w", .capacity = 50}));
    At(11s, Pause("report"));
    At(65s, Backfill("past", {20'000, 30'000, 50'000}));
    Restart(66s);
    At(67s,
       Join({.id = "w", .capacity = 50, .holding = {RefOf(IdOf(20'000)), RefOf(IdOf(30'000))}}));
    spec.options.catch_up_after_pause = true;
    At(68s, Put(spec));
    At(69s, Resume("report"));
    Until(75s);
    EXPECT_FALSE(Exists(IdOf(50'000))) << "only two at a time; it is the backfill's all the same";
    At(76s, Success(IdOf(20'000)));
    std::vector<int> seconds;
    for (const auto& [id, row] : store.executions) {
        if (row.execution.task->id.text() == "report" && row.execution.status != Status::kSkipped) {
            seconds.push_back(int((row.execution.scheduled_at - kBegin) / 1s));
        }
    }
    EXPECT_THAT(seconds, ::testing::UnorderedElementsAre(10, 20, 30, 40, 50, 60, 70));
}

// A backfill in the middle of a pause does not make two pauses of it.
TEST_F(BackfillTest, FireOnceFiresOnceHoweverABackfillDividesThePause) {
    EXPECT_THAT(FiredAroundABackfill(Misfire::kFireOnce), ElementsAre(10, 60));
    EXPECT_EQ(TaskOf("report").state.missed, 3u);
}

TEST_F(BackfillTest, FireAllHasOneCapHoweverABackfillDividesThePause) {
    EXPECT_THAT(FiredAroundABackfill(Misfire::kFireAll), ElementsAre(10, 20));
    EXPECT_EQ(TaskOf("report").state.missed, 3u);
}

// Without catching up, what was due in the pause and nobody ran is on record as missed, around what the
// backfill ran too.
TEST_F(BackfillTest, WhatABackfillLeftOutIsMissedWhenThePauseEnds) {
    At(0ms, Put({.id = "report", .every = 10s}));
    At(0ms, Join({.id = "w", .capacity = 50}));
    At(11s, Pause("report"));
    At(65s, Backfill("past", {40'000}));
    At(66s, Resume("report"));
    std::vector<std::string> missed;
    for (const auto& [id, row] : store.executions) {
        if (row.execution.status == Status::kSkipped) {
            missed.push_back(row.execution.outcome->message.str());
        }
    }
    EXPECT_THAT(missed, ::testing::UnorderedElementsAre(
                            ::testing::HasSubstr("2 due times up to 2026-01-01T00:00:30"),
                            ::testing::HasSubstr("2 due times up to 2026-01-01T00:01:00")));
}

// The past of a sequential task and its present do not overlap.
TEST_F(BackfillTest, ABackfillOfASequentialTaskWaitsForItsTurn) {
    At(0ms, Put({.id = "report", .every = 10s}));
    At(0ms, Join({.id = "w", .capacity = 5}));
    Until(10s);
    const std::string fire = RunOf("report", 0);
    At(11s, Backfill("past", {1'000, 2'000}));
    EXPECT_EQ(StatusOf(IdOf(1'000)), Status::kPending);
    At(12s, Success(fire));
    EXPECT_EQ(StatusOf(IdOf(1'000)), Status::kScheduled);
    EXPECT_EQ(StatusOf(IdOf(2'000)), Status::kPending);
    At(13s, Success(IdOf(1'000)));
    At(14s, Success(IdOf(2'000)));
    EXPECT_EQ(StatusOf("past"), Status::kSuccess);
}

}  // namespace
}  // namespace takt::internal
