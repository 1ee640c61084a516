#include "model/workflow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/record.h"
#include "model/workflow_testing.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The words that a caller gets for steps that are refused; empty if they are fine.
std::string Refusal(std::vector<StepSpec> specs, const Task& task = Task()) {
    const auto made = TryWorkflow(std::move(specs));
    if (!made) return made.error().field + ": " + made.error().detail;
    std::vector<Error> mistakes;
    FindMistakes(**made, task, mistakes);
    return mistakes.empty() ? "" : mistakes[0].field + ": " + mistakes[0].detail;
}

TEST(WorkflowTest, StepsComeAfterAllThatTheyWaitFor) {
    const WorkflowPtr workflow =
        MakeWorkflow({{"load", {"transform"}}, {"transform", {"extract"}}, {"extract"}});
    EXPECT_THAT(workflow->order(), ElementsAre(2, 1, 0));
    EXPECT_THAT(workflow->before(0), ElementsAre(1));
    EXPECT_THAT(workflow->behind(2), ElementsAre(1));
    EXPECT_EQ(workflow->last(), 0);
}

// A hundred thousand runs that were submitted one by one, or read from a store, hold one graph.
TEST(WorkflowTest, EqualOnesAreOne) {
    const auto made = [] { return MakeWorkflow({{"a"}, {"b", {"a"}}}); };
    TaskOptions options;
    options.workflow = made();
    EXPECT_EQ(made().get(), options.workflow.get());
    const auto read = DecodeOptions(EncodeOptions(options));
    EXPECT_EQ((*read)->workflow.get(), options.workflow.get());
    // One that differs in anything is another.
    EXPECT_NE(MakeWorkflow({{"a"}, {"b"}}).get(), options.workflow.get());
    EXPECT_NE(MakeWorkflow({{"a"}, {"b", {"a"}}}, OnFailure::kContinue).get(),
              options.workflow.get());
    EXPECT_NE(MakeWorkflow({{"a"}, {.name = "b", .after = {"a"}, .min_success = 1}}).get(),
              options.workflow.get());
}

// One who draws a graph by hand closes a circle sooner or later: the sentence shows where.
TEST(WorkflowTest, ACircleIsRefusedAndShown) {
    EXPECT_EQ(
        Refusal({{"a", {"c"}}, {"b", {"a"}}, {"c", {"b"}}, {"d", {"c"}}}),
        "steps[0].after[0]: the steps wait for each other in a circle: 'a' waits for 'c' waits "
        "for 'b' waits for 'a'");
    EXPECT_THAT(Refusal({{"a", {"a"}}}), HasSubstr("'a' waits for 'a'"));
    EXPECT_THAT(Refusal({{"z", {"b"}}, {"a", {"b"}}, {"b", {"a"}}}), HasSubstr("in a circle"));
}

TEST(WorkflowTest, EachMistakeHasItsSentence) {
    const struct {
        std::vector<StepSpec> steps;
        std::string refusal;
    } cases[] = {
        {{}, "steps: a workflow has at least one step"},
        {{{"a"}, {"a"}}, "steps[1].name: two steps are called 'a'; give each a name of its own"},
        {{{"a", {"b"}}}, "steps[0].after[0]: step 'a' waits for 'b', and there is no such step"},
        {{{"a"}, {"b", {"a", "a"}}}, "steps[1].after[1]: step 'b' names 'a' twice in its after"},
        {{{.name = "a", .type = ""}},
         "steps[0].type: step 'a' needs a type, or the name of a task that it runs; one of them"},
        {{{.name = "a", .when = When::kAnyFailed}},
         "steps[0].when: step 'a' can never begin: it waits for one of the steps before it, and "
         "there are none"},
        {{{.name = "a", .shards = 2, .each_worker = true}},
         "steps[0].shards: step 'a' has more than one of shards, for_each and each_worker"},
        {{{.name = "a", .shards = 10'001}}, "steps[0].shards: step 'a' has more than 10000 shards"},
        {{{.name = "a", .parallel_max = 2}},
         "steps[0].parallel_max: step 'a' has a parallel_max, but only one execution"},
        {{{.name = "a", .min_success = 2}},
         "steps[0].min_success: step 'a' has a min_success, but only one execution"},
        {{{.name = "a", .shards = 3, .min_success = 4}},
         "steps[0].min_success: step 'a' can never succeed: of 3 shards 4 cannot"},
        {{{.name = "a", .payload = R"({"x": {"$from": "b"}})"}},
         "steps[0].payload: step 'a' takes a value from 'b', and there is no such step"},
        {{{.name = "a"}, {.name = "b", .payload = R"([{"$from": "a"}])"}},
         "steps[1].payload: step 'b' takes a value from 'a', which need not have run before it: "
         "name it in after"},
        {{{.name = "a"}, {.name = "b", .after = {"a"}, .payload = R"({"$from": "b"})"}},
         "steps[1].payload: step 'b' takes a value from 'b', which need not have run before it: "
         "name it in after"},
        {{{.name = "a", .payload = R"({"$item": ""})"}},
         "steps[0].payload: step 'a' refers to an $item, which only the payload of a step with "
         "for_each has"},
        {{{.name = "a", .payload = R"({"$input": "day"})"}},
         "steps[0].payload: step 'a' has a value that cannot be read: 'day' is no JSON pointer: it "
         "is empty or begins with /, like /rows/0"},
        {{{.name = "a", .payload = R"({"x": {"$input": "/day"}})"}},
         "steps[0].payload: step 'a' takes '/day' of the run's parameters, and there is none: give "
         "it in parameters, or the value a default"},
        {{{.name = "a", .for_each = R"({"files": {"$from": "b"}})"}},
         "steps[0].for_each: step 'a' takes a value from 'b', and there is no such step"},
        {{{.name = "a", .for_each = R"({"files": [1, 2]})"}},
         "steps[0].for_each: step 'a' needs a list in for_each, or one value that stands for a "
         "list"},
        {{{.name = "a", .for_each = "3"}},
         "steps[0].for_each: step 'a' needs a list in for_each, or one value that stands for a "
         "list"},
        {{{.name = "a", .payload = R"({"$input": "", "else": 1})"}},
         "steps[0].payload: step 'a' has a value that cannot be read: beside $from, $input and "
         "$item only pointer and default may stand, not 'else'; {\"$literal\": …} takes an object "
         "as it is"},
    };
    for (const auto& [steps, refusal] : cases) EXPECT_EQ(Refusal(steps), refusal);
}

// A one-off task has the parameters that it came with; whoever triggers another may give some.
TEST(WorkflowTest, AParameterThatCannotBeThereIsRefused) {
    const auto refused = [](const std::string& payload, const Task& task) {
        return Refusal({{.name = "a", .payload = payload}}, task) != "";
    };
    Task task;
    task.payload = R"({"day": {"of": null}})";
    EXPECT_FALSE(refused(R"({"$input": "/day/of"})", task));
    EXPECT_FALSE(refused(R"({"$input": ""})", task));
    EXPECT_FALSE(refused(R"({"$input": "/hour", "default": 1})", task));
    EXPECT_TRUE(refused(R"({"$input": "/hour"})", task));
    EXPECT_TRUE(refused(R"({"$input": ""})", Task())) << "it came with none";
    auto options = std::make_unique<TaskOptions>();
    options->recurrence.emplace();
    task.options = std::move(options);
    EXPECT_FALSE(refused(R"({"$input": "/hour"})", task));
    // In a condition it stands for null.
    EXPECT_EQ(Refusal({{.name = "a", .condition = StepCondition{R"({"$input": "/x"})", "null"}}}),
              "");
}

// A step that needs both the success of one step and what runs only after its failure.
TEST(WorkflowTest, AStepThatCanNeverBeginIsRefused) {
    EXPECT_EQ(
        Refusal({{"work"}, {"clean", {"work"}, When::kAnyFailed}, {"report", {"work", "clean"}}}),
        "steps[2].when: step 'report' can never begin, however the steps before it end");
    EXPECT_EQ(Refusal({{"work"},
                       {"clean", {"work"}, When::kAnyFailed},
                       {"report", {"work", "clean"}, When::kAllDone}}),
              "");
    EXPECT_EQ(Refusal({{"work"}, {"clean", {"work"}, When::kAnyFailed}, {"told", {"clean"}}}), "");
}

TEST(WorkflowTest, WhatIsTooLargeIsRefused) {
    std::vector<StepSpec> steps;
    for (int i = 0; i < 501; ++i) steps.push_back({"s" + std::to_string(i)});
    EXPECT_EQ(Refusal(steps), "steps: a workflow has at most 500 steps, not 501");
    steps.resize(500);
    EXPECT_EQ(Refusal(steps), "");
    std::vector<StepSpec> wide;
    for (int i = 0; i < 6; ++i) {
        wide.push_back({.name = "s" + std::to_string(i), .shards = 10'000});
    }
    EXPECT_EQ(Refusal(wide),
              "steps: all steps together have 60000 executions; a run has at most 50000");
}

TEST(WorkflowTest, TheConcurrencyKeyOfARunIsNotAskedForByItsSteps) {
    Task task;
    auto options = std::make_unique<TaskOptions>();
    options->concurrency_key = "db";
    options->concurrency_max = 1;
    task.options = std::move(options);
    EXPECT_THAT(Refusal({{.name = "a", .concurrency_key = "db"}}, task),
                HasSubstr("it would wait for ever"));
    EXPECT_EQ(Refusal({{.name = "a", .concurrency_key = "other"}}, task), "");
}

// The task that a step runs has all of that itself; said here it would do nothing.
TEST(WorkflowTest, AStepThatRunsATaskHasNoMeansOfItsOwn) {
    EXPECT_EQ(
        Refusal({{.name = "a", .payload = "1", .shards = 2, .named = "t", .delay = Duration(1)}}),
        "");
    EXPECT_THAT(Refusal({{.name = "a", .named = "t", .timeout = Duration(1)}}),
                HasSubstr("steps[0].task: step 'a' runs a task that has its own queue"));
    EXPECT_THAT(Refusal({{.name = "a", .named = "t", .locks = {{.name = "x"}}}}),
                HasSubstr("has its own queue"));
}

// A run that holds one lock and waits for another could wait in a circle with a second one.
TEST(WorkflowTest, AWorkflowWithLocksNamesThoseOfItsSteps) {
    const auto check = [](std::vector<LockWant> own, std::vector<LockWant> steps) {
        const WorkflowPtr workflow = MakeWorkflow({{.name = "a", .locks = std::move(steps)}});
        auto options = std::make_unique<TaskOptions>();
        options->locks = std::move(own);
        Task task;
        task.options = std::move(options);
        std::vector<Error> mistakes;
        FindMistakes(*workflow, task, mistakes);
        return mistakes.empty() ? "" : mistakes[0].field + ": " + mistakes[0].detail;
    };
    EXPECT_EQ(check({}, {{.name = "x"}}), "") << "each step has its own";
    EXPECT_EQ(check({{.name = "x"}}, {}), "");
    EXPECT_EQ(check({{.name = "y"}, {.name = "x", .permits = 2}}, {{.name = "x", .permits = 2}}),
              "");
    EXPECT_THAT(check({{.name = "y"}}, {{.name = "x"}}),
                HasSubstr("steps[0].locks: step 'a' declares lock 'x', which its workflow does"));
    EXPECT_THAT(check({{.name = "x"}}, {{.name = "x", .permits = 2}}),
                HasSubstr("declares 2 permits of lock 'x', of which its workflow has 1"));
}

TEST(WorkflowTest, AStepsSourcesAreWhereItsValuesComeFrom) {
    const WorkflowPtr workflow = MakeWorkflow(
        {{"a"},
         {"b", {"a"}},
         {.name = "c",
          .after = {"a", "b"},
          .payload =
              R"({"x": [{"$from": "a", "pointer": "/n"}], "y": {"$literal": {"$from": "b"}}})",
          .condition = StepCondition{R"({"$from": "b"})", "1"}}});
    EXPECT_THAT(workflow->sources(2), ElementsAre(0, 1));
    EXPECT_THAT(workflow->sources(1), ElementsAre());
    EXPECT_TRUE(workflow->wanted(0) && workflow->wanted(1) && workflow->wanted(2));
    EXPECT_FALSE(MakeWorkflow({{"a"}, {"b", {"a"}}})->wanted(0));
}

// A leader reads what the one before it wrote.
TEST(WorkflowTest, StoredStepsAreReadAsTheyWere) {
    StepSpec all{.name = "c",
                 .after = {"a", "b"},
                 .when = When::kNoneFailed,
                 .type = "",
                 .payload = R"({"$item": ""})",
                 .for_each = R"({"$from": "a"})",
                 .parallel_max = 7,
                 .min_success = 3,
                 .named = "other",
                 .condition = StepCondition{"1", "true"},
                 .retry = RetryPolicy{.retries_max = 9},
                 .concurrency_key = "k"};
    Task task;
    task.id = TaskId("t");
    task.queue = "default";
    TaskOptions options;
    options.workflow =
        MakeWorkflow({{.name = "a", .shards = 4}, {.name = "b", .each_worker = true}, all},
                     OnFailure::kContinue);
    const auto read = DecodeOptions(EncodeOptions(options));
    ASSERT_TRUE(read);
    EXPECT_EQ(**read, options);
    TaskOptions other = options;
    all.min_success = 2;
    other.workflow =
        MakeWorkflow({{.name = "a", .shards = 4}, {.name = "b", .each_worker = true}, all},
                     OnFailure::kContinue);
    EXPECT_FALSE(**read == other);
}

}  // namespace
}  // namespace takt::internal
