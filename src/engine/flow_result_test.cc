// Histories of a run's own result: it is put together when the run ends, also from results that are in
// no leader's memory by then.
#include <gmock/gmock.h>

#include "engine/flow_fixture.h"

namespace takt::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FlowResultTest : public FlowHistory {
  protected:
    static std::string Long(std::size_t bytes) { return '"' + std::string(bytes - 2, 'x') + '"'; }

    bool store_answers = true;  // Once the run has begun.

    // A run with two last steps, of which one ends under the leader before, and the other one now.
    void EndUnderTwoLeaders(Duration timeout = Duration(0)) {
        At(0ms, Join({.id = "w", .capacity = 2}));
        At(1ms, Flow({.workflow = MakeWorkflow({{"a"}, {"b"}}), .timeout = timeout}));
        answer_lookups = store_answers;
        At(2ms, Done(Child(0), "1"));
        Restart(3ms);
        At(4ms, Join({.id = "w", .capacity = 2, .holding = {RefOf(Child(1))}}));
        At(5ms, Done(Child(1), "2"));
    }
    // An inner workflow, and a run of it by the first step of the run `run`.
    void RunInner(WorkflowPtr inner, StepSpec next) {
        next.after = {"n"};
        At(0ms, Join({.id = "w", .capacity = 5}));
        At(0ms, PutFlow({.id = "inner", .every = 8760h}, std::move(inner)));
        At(1ms, Flow({.workflow = MakeWorkflow({{.name = "n", .named = "inner"}, next})}));
    }
    std::string Inner(std::uint32_t step, std::uint32_t index = 0) {
        return Child(step, index, 0, Child(0));
    }
};

TEST_F(FlowResultTest, LastStepsThatEndedUnderAnotherLeaderAreInTheRunsResult) {
    EndUnderTwoLeaders();
    EXPECT_EQ(StatusOf("run"), Status::kSuccess);
    EXPECT_EQ(ResultOf("run"), R"({"a":1,"b":2})");
    EXPECT_THAT(store.records, IsEmpty());
}

TEST_F(FlowResultTest, PartsOfAListThatEndedUnderAnotherLeaderAreInTheRunsResult) {
    At(0ms, Join({.id = "w", .capacity = 100}));
    At(1ms, Flow({.workflow = MakeWorkflow({{.name = "a", .shards = 100}})}));
    Until(2ms);
    std::string list = "[0";
    for (std::uint32_t i = 0; i < 99; ++i) At(3ms, Done(Child(0, i), std::to_string(i)));
    for (std::uint32_t i = 1; i < 100; ++i) list += "," + std::to_string(i);
    Restart(4ms);
    At(5ms, Join({.id = "w", .capacity = 100, .holding = {RefOf(Child(0, 99))}}));
    At(6ms, Done(Child(0, 99), "99"));
    EXPECT_EQ(StatusOf("run"), Status::kSuccess);
    EXPECT_EQ(ResultOf("run"), list + "]");
}

TEST_F(FlowResultTest, ResultsThatAreMoreThanIsKeptInMemoryAreInTheRunsResult) {
    const std::string large = Long(100'000);
    At(0ms, Join({.id = "w", .capacity = 9}));
    At(1ms, Flow({.id = "one", .workflow = MakeWorkflow({{"a"}})}));
    At(1ms, Flow({.id = "list", .workflow = MakeWorkflow({{.name = "a", .shards = 2}})}));
    At(1ms, Flow({.id = "two", .workflow = MakeWorkflow({{"a"}, {"b"}})}));
    At(2ms, Done(Child(0, 0, 0, "one"), large));
    At(3ms, Done(Child(0, 0, 0, "list"), large));
    At(3ms, Done(Child(0, 1, 0, "list"), large));
    At(4ms, Done(Child(0, 0, 0, "two"), large));
    At(4ms, Done(Child(1, 0, 0, "two"), large));
    EXPECT_EQ(ResultOf("one"), large);
    EXPECT_EQ(ResultOf("list"), "[" + large + "," + large + "]");
    EXPECT_EQ(ResultOf("two"), R"({"a":)" + large + R"(,"b":)" + large + "}");
}

// A list of more than 256 KiB, and of several last steps those that a mebibyte has no room for.
TEST_F(FlowResultTest, WhatIsTooLargeIsGivenByReferenceAndTheRestIsThere) {
    At(0ms, Join({.id = "w", .capacity = 9}));
    At(1ms, Flow({.id = "list", .workflow = MakeWorkflow({{.name = "a", .shards = 3}})}));
    At(1ms, Flow({.id = "ends", .workflow = MakeWorkflow({{"a"}, {"b"}, {"c"}})}));
    for (std::uint32_t i = 0; i < 3; ++i) At(2ms, Done(Child(0, i, 0, "list"), Long(100'000)));
    At(3ms, Done(Child(0, 0, 0, "ends"), Long(700'000)));
    At(3ms, Done(Child(1, 0, 0, "ends"), Long(700'000)));
    At(3ms, Done(Child(2, 0, 0, "ends"), "3"));
    EXPECT_EQ(ResultOf("list"), R"({"$results":{"step":"a","count":3}})");
    EXPECT_EQ(ResultOf("ends"),
              R"({"a":)" + Long(700'000) + R"(,"b":{"$results":{"step":"b","count":1}},"c":3})");
}

TEST_F(FlowResultTest, WhatSucceededInAnEarlierRoundIsInTheResult) {
    config.retry.retries_max = 0;
    At(0ms, Join({.id = "w", .capacity = 2}));
    At(1ms, Flow({.workflow = MakeWorkflow({{"a"}, {"b"}}, OnFailure::kContinue)}));
    At(2ms, Done(Child(0), "1"));
    At(2ms, Broken(Child(1)));
    ASSERT_EQ(StatusOf("run"), Status::kFailed);
    At(3ms, RedriveOf("run"));
    At(4ms, Done(Child(1, 0, 1), "2"));
    EXPECT_EQ(ResultOf("run"), R"({"a":1,"b":2})");
}

// --- While the store is being asked -------------------------------------------------------------

// The leader dies at each word of the end; whoever is next asks for itself.
TEST_F(FlowResultTest, LeadersThatDieWhileTheResultIsReadLeaveItToTheNext) {
    store_answers = false;
    EndUnderTwoLeaders();
    EXPECT_EQ(StatusOf("run"), Status::kRunning);
    EXPECT_EQ(StepsOf(), "success success") << "that all is over is written first";
    EXPECT_EQ(CodeOf("run"), "run_goes_on");
    Restart(6ms);
    const LookupDone first{{ExecutionId(Text(Child(0)))}, {Row(Child(0))}};
    At(7ms, first);
    EXPECT_EQ(StatusOf("run"), Status::kRunning);
    Restart(8ms);
    answer_lookups = true;
    Restart(9ms);
    Until(10ms);
    EXPECT_EQ(StatusOf("run"), Status::kSuccess);
    EXPECT_EQ(ResultOf("run"), R"({"a":1,"b":2})");
    EXPECT_EQ(ChildrenOf().size(), 2);
    EXPECT_THAT(store.records, IsEmpty());
    Restart(11ms);
    EXPECT_EQ(ResultOf("run"), R"({"a":1,"b":2})");
}

TEST_F(FlowResultTest, ACancelWhileTheResultIsReadEndsTheRunAtOnce) {
    store_answers = false;
    EndUnderTwoLeaders();
    At(6ms, CancelOf("run"));
    EXPECT_EQ(StatusOf("run"), Status::kCancelled);
    // The answer comes late, and finds nobody.
    At(7ms, LookupDone{{ExecutionId(Text(Child(0)))}, {Row(Child(0))}});
    EXPECT_EQ(StatusOf("run"), Status::kCancelled);
    EXPECT_THAT(store.records, IsEmpty());
}

// All of its steps ended in time, also for the next leader.
TEST_F(FlowResultTest, ARunDoesNotTimeOutWhileItsResultIsRead) {
    store_answers = false;
    EndUnderTwoLeaders(10s);
    Until(20s);
    EXPECT_EQ(StatusOf("run"), Status::kRunning);
    Restart(30s);
    Until(50s);
    EXPECT_EQ(StatusOf("run"), Status::kRunning);
    answer_lookups = true;
    Restart(51s);
    Until(52s);
    EXPECT_EQ(ResultOf("run"), R"({"a":1,"b":2})");
}

TEST_F(FlowResultTest, ANewerRunTakesThePlaceOfOneWhoseResultIsRead) {
    RecurringSpec spec{.id = "report", .every = 10s};
    spec.options.mode = Mode::kReplace;
    At(0ms, PutFlow(spec, MakeWorkflow({{"a"}})));
    answer_lookups = false;
    At(1ms, Join({.id = "w", .capacity = 2}));
    Until(10s);
    At(11s, Done(Child(0, 0, 0, RunOf("report", 0)), Long(100'000)));
    EXPECT_EQ(StatusOf(RunOf("report", 0)), Status::kRunning);
    Until(20s);
    EXPECT_EQ(StatusOf(RunOf("report", 0)), Status::kCancelled);
    EXPECT_EQ(StatusOf(RunOf("report", 1)), Status::kRunning);
}

// Somebody deleted what was stored of a step: the run ends nevertheless.
TEST_F(FlowResultTest, AResultThatIsGoneIsNull) {
    store_answers = false;
    EndUnderTwoLeaders();
    At(6ms, LookupDone{{ExecutionId(Text(Child(0)))}, {std::nullopt}});
    EXPECT_EQ(StatusOf("run"), Status::kSuccess);
    EXPECT_EQ(ResultOf("run"), R"({"a":null,"b":2})");
}

// --- Workflows that run others ------------------------------------------------------------------

TEST_F(FlowResultTest, AStepThatRunsAWorkflowHasItsResultToTakeFrom) {
    const std::string pad = Long(100'000);
    RunInner(MakeWorkflow({{"s"}}),
             {.name = "z",
              .payload = R"({"$from": "n", "pointer": "/k"})",
              .condition = StepCondition{R"({"$from": "n", "pointer": "/k"})", "1"}});
    At(2ms, Done(Inner(0), R"({"k": 1, "pad": )" + pad + "}"));
    EXPECT_EQ(StatusOf(Child(0)), Status::kSuccess);
    EXPECT_EQ(PayloadOf(Child(1)), "1");
}

TEST_F(FlowResultTest, AListOfAnInnerRunIsOneAlsoAfterAChangeOfLeaders) {
    RunInner(MakeWorkflow({{.name = "s", .shards = 2}}),
             {.name = "z", .for_each = R"({"$from": "n"})"});
    At(2ms, Done(Inner(0, 0), "10"));
    Restart(3ms);
    At(4ms, Join({.id = "w", .capacity = 5, .holding = {RefOf(Inner(0, 1))}}));
    At(5ms, Done(Inner(0, 1), "11"));
    EXPECT_EQ(PayloadOf(Child(1, 0)), "10");
    EXPECT_EQ(PayloadOf(Child(1, 1)), "11");
}

// A part of what is given by reference is there, and cannot be taken: it is no default, nor null.
TEST_F(FlowResultTest, AStepThatNeedsAPartOfAReferenceFailsAndSaysSo) {
    const std::string why =
        "results of step 's' are too large, or nested too deep, and are given by";
    const auto ends = [&](const std::string& run, StepSpec next) {
        next.after = {"s"};
        At(Duration(1), Flow({.id = run,
                              .workflow = MakeWorkflow({{.name = "s", .shards = 3}, next},
                                                       OnFailure::kContinue)}));
    };
    At(0ms, Join({.id = "w", .capacity = 50}));
    const std::string part = R"({"$from": "s", "pointer": "/1", "default": 7})";
    ends("payload", {.name = "z", .payload = part});
    ends("if", {.name = "z", .condition = StepCondition{part, "7"}});
    ends("whole", {.name = "z", .condition = StepCondition{R"([{"$from": "s"}])", "[null]"}});
    ends("each", {.name = "z", .for_each = R"({"$from": "s"})"});
    for (const char* run : {"payload", "if", "whole", "each"}) {
        for (std::uint32_t i = 0; i < 3; ++i) At(2ms, Done(Child(0, i, 0, run), Long(100'000)));
        EXPECT_EQ(StatusOf(run), Status::kFailed) << run;
        EXPECT_THAT(MessageOf(Child(1, 0, 0, run)), HasSubstr(why)) << run;
        EXPECT_THAT(MessageOf(Child(1, 0, 0, run)), HasSubstr("step_refused")) << run;
    }
}

TEST_F(FlowResultTest, AConditionOnAReferenceInAnInnerRunsResultFailsTheStep) {
    RunInner(
        MakeWorkflow({{.name = "s", .shards = 3}, {"t"}}),
        {.name = "z", .condition = StepCondition{R"({"$from": "n", "pointer": "/s/0"})", "1"}});
    for (std::uint32_t i = 0; i < 3; ++i) At(2ms, Done(Inner(0, i), Long(100'000)));
    At(2ms, Done(Inner(1), "1"));
    EXPECT_EQ(StatusOf("run"), Status::kFailed);
    EXPECT_EQ(
        MessageOf(Child(1)),
        "step_refused: its if cannot be decided: '/s/0' cannot be taken from the result of step "
        "'n': the results of step 's' are too large, or nested too deep, and are given by "
        "reference");
}

}  // namespace
}  // namespace takt::internal
