// Histories of backfills: past due times of a recurring task, each made once.
#include "engine/flow_fixture.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;

class BackfillTest : public FlowHistory {
  protected:
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
