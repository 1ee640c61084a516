// Histories of workflows: steps one after the other, side by side, and what they hand on.
#include "base/failpoint.h"
#include "engine/flow_fixture.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FlowTest : public FlowHistory {};

WorkflowPtr Etl() {
    return MakeWorkflow(
        {{.name = "extract", .payload = R"({"day": {"$input": "/day"}})"},
         {.name = "transform",
          .after = {"extract"},
          .payload = R"({"rows": {"$from": "extract", "pointer": "/rows"}})"},
         {.name = "load", .after = {"transform"}, .payload = R"([{"$from": "transform"}, 1.50])"}});
}

// Extract, transform, load: each begins with what the one before it left.
TEST_F(FlowTest, StepsRunOneAfterTheOtherAndHandOnTheirResults) {
    At(0ms, Join({.id = "w"}));
    At(1ms, Flow({.workflow = Etl(), .payload = R"({"day": "2026-01-01"})"}));
    EXPECT_EQ(StatusOf("run"), Status::kRunning);
    EXPECT_THAT(AssignedIds(), ElementsAre(Child(0)));
    EXPECT_EQ(PayloadOf(Child(0)), R"({"day":"2026-01-01"})");
    const Execution& child = Row(Child(0));
    EXPECT_EQ(child.parent.text(), "run");
    EXPECT_EQ(child.step, "extract");
    EXPECT_EQ(child.origin, Origin::kStep);
    EXPECT_EQ(child.task->id.text(), "run");
    EXPECT_EQ(child.task->workflow(), nullptr) << "a child's task is its step alone";
    EXPECT_EQ(StepsOf(), "running pending pending");

    At(2ms, Done(Child(0), R"({"rows": 12345678901234567890})"));
    EXPECT_EQ(PayloadOf(Child(1)), R"({"rows":12345678901234567890})");
    At(3ms, Done(Child(1), "words"));
    EXPECT_EQ(PayloadOf(Child(2)), R"(["words",1.50])");
    EXPECT_EQ(StepsOf(), "success success running");
    At(4ms, Done(Child(2), R"({"loaded": true})"));

    EXPECT_EQ(StatusOf("run"), Status::kSuccess);
    EXPECT_EQ(StepsOf(), "success success success");
    EXPECT_EQ(ResultOf("run"), R"({"loaded": true})");
    EXPECT_EQ(Row("run").started_at, WallAt(1ms));
    EXPECT_THAT(store.records, IsEmpty()) << "of a run that has ended nothing is kept beside it";
    EXPECT_THAT(lookups, testing::SizeIs(1)) << "only of the caller's own id";
}

TEST_F(FlowTest, WhatDoesNotWaitForEachOtherRunsSideBySide) {
    At(0ms, Join({.id = "w", .capacity = 5}));
    At(1ms, Flow({.workflow = MakeWorkflow({{"a"}, {"b"}, {"c", {"a", "b"}}})}));
    EXPECT_THAT(AssignedIds(), ElementsAre(Child(0), Child(1)));
    At(2ms, Success(Child(1)));
    EXPECT_FALSE(Exists(Child(2)));
    At(3ms, Success(Child(0)));
    At(4ms, Done(Child(2), "7"));
    EXPECT_EQ(StatusOf("run"), Status::kSuccess);
    EXPECT_EQ(ResultOf("run"), "7");
}

TEST_F(FlowTest, TheResultOfARunWithSeveralLastStepsIsAnObject) {
    At(0ms, Join({.id = "w", .capacity = 5}));
    At(1ms, Flow({.workflow = MakeWorkflow({{"a"}, {.name = "b", .shards = 2}})}));
    At(2ms, Done(Child(0), "\"x\""));
    At(2ms, Done(Child(1, 0), "1"));
    At(2ms, Done(Child(1, 1), "not json"));
    EXPECT_EQ(ResultOf("run"), R"({"a":"x","b":[1,"not json"]})");
}

// A step that is not to be run today.
TEST_F(FlowTest, AStepWhoseConditionDoesNotHoldIsSkippedWithWhatWaitsForIt) {
    At(0ms, Join({.id = "w", .capacity = 5}));
    const WorkflowPtr workflow = MakeWorkflow(
        {{"check"},
         {.name = "work",
          .after = {"check"},
          .condition = StepCondition{R"({"$from": "check", "pointer": "/ok"})", "true"}},
         {"tell", {"work"}},
         {"always", {"work"}, When::kAllDone}});
    At(1ms, Flow({.workflow = workflow}));
    At(2ms, Done(Child(0), R"({"ok": false})"));
    EXPECT_EQ(StepsOf(), "success skipped skipped running");
    EXPECT_EQ(ProgressOf().steps[1].note, "its if does not hold");
    EXPECT_EQ(ProgressOf().steps[2].note, "step 'work' was skipped");
    At(3ms, Success(Child(3)));
    EXPECT_EQ(StatusOf("run"), Status::kSuccess);

    At(4ms, Flow({.id = "other", .workflow = workflow}));
    At(5ms, Done(Child(0, 0, 0, "other"), R"({"ok": true})"));
    EXPECT_EQ(StepsOf("other"), "success running pending pending");

    // A value that is not there is null, and that is not true.
    At(6ms, Flow({.id = "third", .workflow = workflow}));
    At(7ms, Success(Child(0, 0, 0, "third")));
    EXPECT_EQ(StepsOf("third"), "success skipped skipped running");
}

TEST_F(FlowTest, AValueThatIsNotThereFailsTheStepUnlessADefaultIsGiven) {
    At(0ms, Join({.id = "w", .capacity = 5}));
    At(1ms, Flow({.workflow = MakeWorkflow({{"a"},
                                            {.name = "b",
                                             .after = {"a"},
                                             .payload = R"({"$from": "a", "pointer": "/n"})",
                                             .retry = RetryPolicy{.retries_max = 5}}})}));
    At(2ms, Done(Child(0), "{}"));
    EXPECT_EQ(StatusOf(Child(1)), Status::kFailed);
    EXPECT_EQ(MessageOf(Child(1)), "value_missing: the result of step 'a' has no '/n'");
    EXPECT_EQ(StatusOf("run"), Status::kFailed);
    EXPECT_EQ(MessageOf("run"), "step_failed: step 'b' failed: '" + Child(1) +
                                    "': the result of step 'a' has no '/n'");

    At(3ms, Flow({.id = "other",
                  .workflow = MakeWorkflow(
                      {{"a"},
                       {.name = "b",
                        .after = {"a"},
                        .payload = R"({"$from": "a", "pointer": "/n", "default": 3})"}})}));
    At(4ms, Done(Child(0, 0, 0, "other"), "{}"));
    EXPECT_EQ(PayloadOf(Child(1, 0, 0, "other")), "3");
}

TEST_F(FlowTest, AFailedAttemptOfAStepIsRetriedAsTheStepSays) {
    At(0ms, Join({.id = "w"}));
    At(1ms, Flow({.workflow = MakeWorkflow(
                      {{.name = "a",
                        .retry = RetryPolicy{.retries_max = 1, .delay = 1s, .jitter = 0}}})}));
    At(2ms, Failure(Child(0)));
    EXPECT_EQ(StatusOf(Child(0)), Status::kRetrying);
    EXPECT_EQ(StatusOf("run"), Status::kRunning);
    Until(2s);
    At(2s, Success(Child(0)));
    EXPECT_EQ(StatusOf("run"), Status::kSuccess);
}

// --- What a failure means -----------------------------------------------------------------------

TEST_F(FlowTest, AFailureEndsWhatGoesOnAndThenCleansUp) {
    At(0ms, Join({.id = "w", .capacity = 5}));
    At(1ms, Flow({.workflow = MakeWorkflow({{"a"},
                                            {"b"},
                                            {"c", {"a"}},
                                            {"clean", {"a", "b"}, When::kAnyFailed},
                                            {"after", {"clean"}}})}));
    At(2ms, Broken(Child(0)));
    EXPECT_EQ(StatusOf(Child(1)), Status::kCancelled);
    EXPECT_EQ(MessageOf(Child(1)), "run_ended: its run was ended");
    EXPECT_THAT(stops, testing::SizeIs(1));
    EXPECT_EQ(StepsOf(), "failed cancelled skipped running skipped");
    EXPECT_EQ(StatusOf("run"), Status::kRunning);
    EXPECT_EQ(EventCount(EventType::kTaskEnding), 1u) << "who watches sees that it is to end";
    At(3ms, Success(Child(3)));
    EXPECT_EQ(StatusOf("run"), Status::kFailed) << "also if the clean-up succeeded";
    EXPECT_EQ(MessageOf("run"),
              "step_failed: step 'a' failed: '" + Child(0) + "': it did not work");
}

TEST_F(FlowTest, ARunThatGoesOnAfterAFailureDoesAllThatItCan) {
    At(0ms, Join({.id = "w", .capacity = 5}));
    At(1ms, Flow({.workflow = MakeWorkflow({{"a"},
                                            {"b"},
                                            {"after_a", {"a"}},
                                            {"after_b", {"b"}},
                                            {"clean", {"a"}, When::kAnyFailed}},
                                           OnFailure::kContinue)}));
    At(2ms, Broken(Child(0)));
    EXPECT_EQ(StepsOf(), "failed running skipped pending running");
    EXPECT_EQ(ProgressOf().steps[2].note, "step 'a' did not succeed");
    At(3ms, Success(Child(4)));
    At(4ms, Success(Child(1)));
    At(5ms, Success(Child(3)));
    EXPECT_EQ(StatusOf("run"), Status::kFailed);
}

// --- Ending -------------------------------------------------------------------------------------

TEST_F(FlowTest, ACancelledRunEndsWithItsLastChild) {
    config.changes_per_step = 8;
    At(0ms, Join({.id = "w", .capacity = 20}));
    At(1ms, Flow({.workflow = MakeWorkflow({{.name = "a", .shards = 60}, {"b", {"a"}}})}));
    Until(2ms);
    ASSERT_EQ(LiveChildren(), 60);
    const std::size_t sent = assigns.size();
    tick_between = false;
    At(3ms, CancelOf("run"));
    ASSERT_TRUE(LastReply());
    EXPECT_EQ(LastReply()->status, Status::kRunning);
    EXPECT_EQ(DecodeProgressHead(LastReply()->progress)->ending->status, Status::kCancelled);
    EXPECT_GT(LiveChildren(), 0);
    EXPECT_EQ(StatusOf("run"), Status::kRunning) << "a child is live only while its run is";
    tick_between = true;
    Until(4ms);
    EXPECT_EQ(LiveChildren(), 0);
    EXPECT_EQ(StatusOf("run"), Status::kCancelled);
    EXPECT_EQ(assigns.size(), sent) << "from the intent on nothing starts";
    EXPECT_LE(changes_in_largest_step(), 12);
    EXPECT_EQ(StepsOf(), "cancelled skipped");
    EXPECT_EQ(Row("run").finished_at, WallAt(3ms));
}

// The leader dies in the middle of cancelling: the next one knows what was meant.
TEST_F(FlowTest, ATakeoverInTheMiddleOfACancelGoesOnWithIt) {
    config.changes_per_step = 8;
    At(0ms, Join({.id = "w", .capacity = 5}));
    At(1ms, Flow({.workflow = MakeWorkflow({{.name = "a", .shards = 60}, {"b", {"a"}}})}));
    Until(2ms);
    const std::size_t sent = assigns.size();
    tick_between = false;
    At(3ms, CancelOf("run"));
    ASSERT_GT(LiveChildren(), 0);
    Restart(4ms);
    tick_between = true;
    At(5ms, Join({.id = "w", .capacity = 5, .holding = {RefOf(Child(0, 0))}}));
    Until(6ms);
    EXPECT_EQ(StatusOf("run"), Status::kCancelled);
    EXPECT_EQ(LiveChildren(), 0);
    EXPECT_EQ(assigns.size(), sent);
}

// A run is ended in several steps; a worker that comes between them has room.
class EndingFlowTest : public FlowTest {
  protected:
    void SetUp() override { ASSERT_TRUE(StartFailPoints()); }

    void CancelHalfDone() {
        config.changes_per_step = 8;
        At(0ms, Join({.id = "w", .capacity = 1}));
        At(1ms, Flow({.workflow = MakeWorkflow({{.name = "a", .shards = 60}})}));
        Until(2ms);
        ASSERT_THAT(AssignedIds(), ElementsAre(Child(0, 0)));
        tick_between = false;
        At(3ms, CancelOf("run"));
        ASSERT_GT(LiveChildren(), 0);
        At(3ms, Join({.id = "w2", .capacity = 1}));
        tick_between = true;
        Until(20ms);
    }
};

TEST_F(EndingFlowTest, NothingOfARunThatEndsIsStarted) {
    CancelHalfDone();
    EXPECT_THAT(AssignedIds(), ElementsAre(Child(0, 0)));
    EXPECT_EQ(StatusOf("run"), Status::kCancelled);
}

TEST_F(FlowTest, ARunHasATimeoutOfItsOwn) {
    At(0ms, Join({.id = "w"}));
    At(1ms, Flow({.workflow = MakeWorkflow({{"a"}, {"clean", {"a"}, When::kAnyFailed}}),
                  .timeout = 10s}));
    Restart(4s);
    At(5s, Join({.id = "w", .holding = {RefOf(Child(0))}}));
    Until(9s);
    EXPECT_EQ(StatusOf("run"), Status::kRunning);
    Until(11s);
    EXPECT_EQ(StatusOf("run"), Status::kFailed);
    EXPECT_EQ(MessageOf("run"), "timeout: took longer than its timeout of 10s");
    EXPECT_EQ(StepsOf(), "cancelled skipped");
}

TEST_F(FlowTest, ARunThatHasNotBegunIsCancelledAtOnce) {
    const WorkflowPtr etl = MakeWorkflow({{"a"}, {"b", {"a"}}, {"c", {"b"}}});
    At(0ms, Flow({.workflow = etl, .concurrency_max = 1}));
    At(1ms, Flow({.id = "second", .workflow = etl, .concurrency_max = 1}));
    EXPECT_EQ(StatusOf("second"), Status::kPending) << "a limit of a workflow counts runs";
    At(2ms, CancelOf("second"));
    EXPECT_EQ(StatusOf("second"), Status::kCancelled);
    EXPECT_EQ(StepsOf("second"), "skipped skipped skipped");
    At(3ms, Flow({.id = "third", .workflow = etl, .concurrency_max = 1}));
    At(4ms, CancelOf("run"));
    EXPECT_EQ(StatusOf("run"), Status::kCancelled);
    EXPECT_EQ(StatusOf("third"), Status::kRunning);
}

// An operator knows that it has been done by hand.
TEST_F(FlowTest, AChildAndARunCanBeConcluded) {
    At(0ms, Join({.id = "w", .capacity = 2}));
    At(1ms, Flow({.workflow = Etl(), .payload = R"({"day": 1})"}));
    auto outcome = boost::intrusive_ptr<Outcome>(new Outcome);
    outcome->data = R"({"rows": 5})";
    At(2ms, Conclude{.request = 900,
                     .execution = ExecutionId(Text(Child(0))),
                     .status = Status::kSuccess,
                     .outcome = outcome});
    EXPECT_EQ(PayloadOf(Child(1)), R"({"rows":5})");
    auto end = boost::intrusive_ptr<Outcome>(new Outcome);
    end->data = "\"by hand\"";
    At(3ms, Conclude{.request = 901,
                     .execution = ExecutionId("run"),
                     .status = Status::kSuccess,
                     .outcome = end});
    EXPECT_EQ(StatusOf("run"), Status::kSuccess);
    EXPECT_EQ(ResultOf("run"), "\"by hand\"");
    EXPECT_EQ(StatusOf(Child(1)), Status::kCancelled);
}

// --- Again --------------------------------------------------------------------------------------

TEST_F(FlowTest, ARetryOfARunKeepsWhatSucceeded) {
    At(0ms, Join({.id = "w", .capacity = 5}));
    At(1ms, Flow({.workflow =
                      MakeWorkflow({{"a"},
                                    {.name = "b", .after = {"a"}, .shards = 3},
                                    {.name = "c", .after = {"b"}, .payload = R"({"$from": "b"})"}},
                                   OnFailure::kContinue)}));
    At(2ms, Success(Child(0)));
    At(3ms, Done(Child(1, 0), "\"zero\""));
    At(3ms, Broken(Child(1, 1)));
    At(3ms, Done(Child(1, 2), "\"two\""));
    EXPECT_EQ(StatusOf("run"), Status::kFailed);
    EXPECT_EQ(StepsOf(), "success failed skipped");

    At(4ms, RedriveOf(Child(1, 1)));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
    EXPECT_THAT(LastReply().error().detail, HasSubstr("is a part of run 'run'"));

    assigns.clear();
    At(5ms, RedriveOf("run"));
    EXPECT_EQ(StatusOf("run"), Status::kRunning);
    EXPECT_THAT(AssignedIds(), ElementsAre(Child(1, 1, 1))) << "only what had no success";
    EXPECT_EQ(Row(Child(1, 1, 1)).round, 1);
    Restart(6ms);
    At(7ms, Join({.id = "w", .capacity = 5, .holding = {RefOf(Child(1, 1, 1))}}));
    At(8ms, Done(Child(1, 1, 1), "\"one\""));
    EXPECT_EQ(PayloadOf(Child(2, 0, 1)), R"(["zero","one","two"])");
    At(9ms, Success(Child(2, 0, 1)));
    EXPECT_EQ(StatusOf("run"), Status::kSuccess);
    EXPECT_EQ(StatusOf(Child(1, 1)), Status::kFailed) << "what was before stays as it was";
}

TEST_F(FlowTest, ARunCanBeRunAgainFromAStepOn) {
    At(0ms, Join({.id = "w", .capacity = 5}));
    At(1ms, Flow({.workflow = MakeWorkflow({{"a"}, {"b", {"a"}}, {"c", {"b"}}})}));
    At(2ms, Success(Child(0)));
    At(3ms, Success(Child(1)));
    At(4ms, Broken(Child(2)));
    Redrive again = RedriveOf("run");
    again.steps = {"b"};
    assigns.clear();
    At(5ms, again);
    EXPECT_THAT(AssignedIds(), ElementsAre(Child(1, 0, 1)));
    Redrive wrong = RedriveOf("run");
    At(6ms, wrong);
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
}

// A caller must not take the id that a step will have.
TEST_F(FlowTest, IdsOfStepsAreNotGivenToCallers) {
    At(0ms, Once({.id = "run~0.0"}));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kInvalid);
    EXPECT_THAT(LastReply().error().detail, HasSubstr("steps of workflows"));
    At(1ms, Put({.id = "run~0.0", .every = 1h}));
    ASSERT_FALSE(LastReply()) << "nor to a recurring task";
    EXPECT_EQ(LastReply().error().code, ErrorCode::kInvalid);
    EXPECT_EQ(LastReply().error().field, "id");
}

}  // namespace
}  // namespace takt::internal
