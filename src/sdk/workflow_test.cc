// Workflows from C++: written by the builder, run, read back.
#include "takt/workflow.h"

#include <gmock/gmock.h>

#include "tests/sdk/sdk_testing.h"

namespace takt::testing_support {
namespace {

using ::testing::ElementsAre;

using WorkflowTest = SdkTest;

TEST(WorkflowValues, AreTheJsonThatStepsTakeValuesBy) {
    EXPECT_EQ(From("a \"b\""), R"({"$from":"a \"b\""})");
    EXPECT_EQ(From("extract", "/rows"), R"({"$from":"extract","pointer":"/rows"})");
    EXPECT_EQ(Input("/day"), R"({"$input":"/day"})");
    EXPECT_EQ(Item(), R"({"$item":""})");
}

// Extract, transform in parts, load: as it would be drawn.
TEST_F(WorkflowTest, AWorkflowRunsAsItWasWritten) {
    Start();
    auto worker = MakeWorker("w");
    worker->Handle("extract", [](TaskContext& task) {
        EXPECT_EQ(task.payload(), R"({"day":"monday"})");
        EXPECT_EQ(task.step(), "extract");
        EXPECT_FALSE(task.parent_id().empty());
        EXPECT_GT(task.lock_token("ledger"), 0u);
        return TaskResult::Success(R"({"files": [1, 2, 3]})");
    });
    worker->Handle("double", [](TaskContext& task) {
        EXPECT_EQ(task.shard_total(), 3u);
        return TaskResult::Success(std::to_string(2 * std::stoi(task.payload())));
    });
    worker->Handle("load", [](TaskContext& task) { return TaskResult::Success(task.payload()); });
    Join(*worker);
    Workflow etl("etl");
    etl.Input(R"({"day": "monday"})").Lock("ledger");
    etl.Step("extract").Payload(R"({"day": )" + Input("/day") + "}");
    etl.Step("transform", "double").After("extract").ForEach(From("extract", "/files")).Parallel(2);
    etl.Step("load").After("transform").Payload(From("transform"));
    etl.Step("tell", "mail").After("transform").When(When::kAnyFailed);

    const auto run = scheduler_->SubmitTask(etl.task());

    ASSERT_TRUE(run) << run.error().field << " " << run.error().message;
    const auto done = scheduler_->WaitForTask(run->id, kPatience);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->status, Status::kSuccess);
    EXPECT_EQ(done->result, R"({"load":[2,4,6],"tell":null})");
}

// More than fits into a payload: the reducer reads it piece by piece.
TEST_F(WorkflowTest, AHandlerReadsTheResultsOfEarlierSteps) {
    Start();
    auto worker = MakeWorker("w");
    worker->Handle("one", [](TaskContext&) { return TaskResult::Success("7"); });
    worker->Handle("many", [](TaskContext& task) {
        if (task.shard_index() == 1) return TaskResult::FinalFailure("no");
        return TaskResult::Success('"' + std::string(300'000, 'x') + '"');
    });
    worker->Handle("reduce", [](TaskContext& task) {
        EXPECT_EQ(task.payload(), R"({"$results":{"step":"many","count":5}})");
        const auto one = task.StepResult("one");
        const auto many = task.StepResult("many");
        EXPECT_TRUE(one) << one.error().message;
        EXPECT_EQ(one.value_or(""), "7");
        EXPECT_FALSE(task.StepResult("reduce")) << "it is not over";
        EXPECT_FALSE(task.StepResult("nothing"));
        return many ? TaskResult::Success(std::to_string(many->size()))
                    : TaskResult::FinalFailure(many.error().message);
    });
    Join(*worker);
    Workflow flow("flow");
    flow.OnFailure(OnFailure::kContinue);
    flow.Step("one").Step("many").Shards(5).MinSuccess(4);
    flow.Step("reduce").After("many", "one").When(When::kAllDone).Payload(From("many"));
    const auto run = scheduler_->SubmitTask(flow.task());
    ASSERT_TRUE(run) << run.error().message;
    const auto done = scheduler_->WaitForTask(run->id, kPatience);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->result, std::to_string(4 * 300'002 + 4 + 6));
}

TEST_F(WorkflowTest, ARecurringWorkflowIsKeptAsItWasWritten) {
    Start();
    Workflow nightly("nightly");
    nightly.Cron("0 2 * * *").OnFailure(OnFailure::kContinue).Lock("gpu");
    nightly.Step("check").Timeout(1min).Retry({.max_retries = 2});
    nightly.StepOf("other", "nightly-other").After("check").If(From("check", "/ok"), "true");
    nightly.Step("clear").EachWorker().MinSuccess(1);
    nightly.task().id = "nightly";
    nightly.last().labels = {{"zone", "a"}};
    nightly.last().priority = 7;

    const auto made = scheduler_->SubmitTask(nightly.task());

    ASSERT_TRUE(made) << made.error().field << " " << made.error().message;
    const auto found = scheduler_->GetTask("nightly");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->on_failure, OnFailure::kContinue);
    ASSERT_EQ(found->locks.size(), 1u);
    ASSERT_EQ(found->steps.size(), 3u);
    EXPECT_EQ(found->steps[0].name, "check");
    EXPECT_EQ(found->steps[0].timeout, 1min);
    EXPECT_EQ(found->steps[0].retry.max_retries, 2u);
    EXPECT_EQ(found->steps[1].task, "nightly-other");
    EXPECT_THAT(found->steps[1].after, ElementsAre("check"));
    ASSERT_TRUE(found->steps[1].condition);
    EXPECT_EQ(found->steps[1].condition->equals, "true");
    EXPECT_TRUE(found->steps[2].each_worker);
    EXPECT_EQ(found->steps[2].min_success, 1u);
    EXPECT_EQ(found->steps[2].labels.at("zone"), "a");
    EXPECT_EQ(found->steps[2].priority, 7);
}

TEST_F(WorkflowTest, AMistakeNamesItsField) {
    Start();
    const auto field = [&](const Workflow& workflow) {
        const auto made = scheduler_->SubmitTask(workflow.task());
        return made ? "" : made.error().field;
    };
    EXPECT_EQ(field(Workflow("w").Step("a").Payload("{")), "steps[0].payload");
    EXPECT_EQ(field(Workflow("w").Step("a").Step("b").After("c")), "steps[1].after[0]");
    EXPECT_EQ(field(Workflow("w").Lock("x").Step("a").EachWorker().Shards(3)), "steps[0].shards");
}

TEST_F(WorkflowTest, ShardsAreTheShortFormOfOneStep) {
    Start();
    auto worker = MakeWorker("w");
    worker->Handle("t", [](TaskContext& task) {
        return TaskResult::Success(std::to_string(task.shard_index()));
    });
    Join(*worker);
    const auto run = scheduler_->SubmitTask({.type = "t", .shards = 3, .parallel_max = 2});
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(run->shards, 3u);
    EXPECT_EQ(scheduler_->WaitForTask(run->id, kPatience)->result, "[0,1,2]");
}

}  // namespace
}  // namespace takt::testing_support
