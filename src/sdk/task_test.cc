// Tasks through the library: submit, run, look, change.
#include <gmock/gmock.h>

#include "tests/sdk/sdk_testing.h"

namespace takt::testing_support {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using TaskTest = SdkTest;

// The quick start: a scheduler, a worker and a client, each of which could be another process.
TEST_F(TaskTest, SubmittedTaskRunsAndItsResultComesBack) {
    Start();
    auto worker = MakeWorker("w");
    worker->Handle("greet", [](TaskContext& task) {
        EXPECT_EQ(task.payload(), R"({"name": "Ada"})");
        EXPECT_EQ(task.metadata().at("department"), "analytics");
        EXPECT_EQ(task.attempt(), 1u);
        EXPECT_EQ(task.priority(), kPriorityHigh);
        EXPECT_GT(task.fencing_token().first, 0u);
        EXPECT_TRUE(task.remaining());
        task.Progress(0.5, "half way");
        task.Log("greeting");
        return TaskResult::Success(R"({"said": "hello Ada"})");
    });
    Join(*worker);
    Client client = MakeClient();

    const auto task = client.SubmitTask({.name = "greeting",
                                         .type = "greet",
                                         .priority = kPriorityHigh,
                                         .payload = R"({"name": "Ada"})",
                                         .metadata = {{"department", "analytics"}},
                                         .timeout = 10min});
    ASSERT_TRUE(task) << task.error().message;
    const auto run = client.WaitForTask(task->id, kPatience);

    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(run->status, Status::kSuccess);
    EXPECT_EQ(run->result, R"({"said": "hello Ada"})");
    EXPECT_EQ(run->worker_id, "w");
    EXPECT_TRUE(run->finished_at);
    const auto again = scheduler_->GetTask(task->id);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->name, "greeting");
    EXPECT_EQ(again->timeout, 10min);
    ASSERT_TRUE(again->execution);
    EXPECT_EQ(again->execution->status, Status::kSuccess);
    EXPECT_TRUE(Eventually([&] { return *scheduler_->GetLog(task->id) == "greeting\n"; }));
}

// A service that is down for a moment: the policy says how often and how soon to try again.
TEST_F(TaskTest, FailedAttemptsAreRepeatedAsThePolicySays) {
    Start();
    auto worker = MakeWorker("w");
    worker->Handle("flaky", [](TaskContext& task) {
        return task.failures() < 2 ? TaskResult::Failure("not yet", 7) : TaskResult::Success();
    });
    Join(*worker);

    const auto task =
        scheduler_->SubmitTask({.type = "flaky", .retry = {.max_retries = 2, .delay = 1ms}});
    ASSERT_TRUE(task) << task.error().message;
    const auto run = scheduler_->WaitForTask(task->id, kPatience);

    ASSERT_TRUE(run);
    EXPECT_EQ(run->status, Status::kSuccess);
    EXPECT_EQ(run->attempt, 3u);
    EXPECT_EQ(run->failures, 2u);
}

// A bad record can be mended and run again; until then it says what was wrong with it.
TEST_F(TaskTest, WhatFailedForGoodSaysWhyAndCanBeRetried) {
    Start();
    std::atomic<bool> mended = false;
    auto worker = MakeWorker("w");
    worker->Handle("import", [&](TaskContext&) {
        return mended ? TaskResult::Success() : TaskResult::FinalFailure("row 7 is broken", 3);
    });
    Join(*worker);
    const auto task = scheduler_->SubmitTask({.type = "import", .retry = {.max_retries = 5}});
    const auto failed = scheduler_->WaitForTask(task->id, kPatience);
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->status, Status::kFailed);
    ASSERT_TRUE(failed->error);
    EXPECT_EQ(failed->error->code, "handler_failed");
    EXPECT_EQ(failed->error->message, "row 7 is broken");
    EXPECT_EQ(failed->error->handler_code, 3);

    mended = true;
    ASSERT_TRUE(scheduler_->RetryTask(task->id));

    EXPECT_EQ(scheduler_->WaitForTask(task->id, kPatience)->status, Status::kSuccess);
}

// Somebody pressed the wrong button: the handler is told, and the execution ends as cancelled.
TEST_F(TaskTest, CancelledTaskAsksItsHandlerToStop) {
    Start();
    Signal begun;
    Signal stopped;
    auto worker = MakeWorker("w");
    worker->Handle("long", [&](TaskContext& task) {
        Signal stop;
        const std::stop_callback wake(task.stop_token(), [&] { stop.Set(); });
        begun.Set();
        EXPECT_TRUE(stop.Wait());
        EXPECT_EQ(task.stop_reason(), StopReason::kCancelled);
        stopped.Set();
        return TaskResult::Success();
    });
    Join(*worker);
    const auto task = scheduler_->SubmitTask({.id = "mistake", .type = "long"});
    ASSERT_TRUE(begun.Wait());

    const auto cancelled = scheduler_->CancelTask("mistake", "pressed the wrong button");

    ASSERT_TRUE(cancelled) << cancelled.error().message;
    EXPECT_EQ(cancelled->status, Status::kCancelled);
    EXPECT_THAT(cancelled->error->message, HasSubstr("wrong button"));
    EXPECT_TRUE(stopped.Wait());
    EXPECT_EQ(scheduler_->CancelTask("mistake").error().code, ErrorCode::kConflict);
    EXPECT_EQ(scheduler_->CancelTask("other").error().code, ErrorCode::kNotFound);
}

// A worker that moved over from another kit reports by telling the scheduler how it ended, which
// must not count twice when its own answer comes too.
TEST_F(TaskTest, StatusCanBeSetFromOutside) {
    Start();
    Signal begun;
    Signal told;
    auto worker = MakeWorker("w");
    worker->Handle("manual", [&](TaskContext&) {
        begun.Set();
        EXPECT_TRUE(told.Wait());
        return TaskResult::Failure("too late");
    });
    Join(*worker);
    ASSERT_TRUE(scheduler_->SubmitTask({.id = "by-hand", .type = "manual"}));
    ASSERT_TRUE(begun.Wait());
    const auto refused = scheduler_->UpdateTaskStatus("by-hand", Status::kRunning);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(refused.error().field, "status");

    const auto ended = scheduler_->UpdateTaskStatus("by-hand", Status::kSuccess, "done by phone");
    told.Set();

    ASSERT_TRUE(ended) << ended.error().message;
    EXPECT_EQ(ended->status, Status::kSuccess);
    EXPECT_EQ(ended->message, "done by phone");
    EXPECT_EQ(scheduler_->GetExecution("by-hand")->message, "done by phone");
    EXPECT_EQ(scheduler_->UpdateTaskStatus("by-hand", Status::kFailed).error().code,
              ErrorCode::kConflict);
    // A task that nobody has begun cannot have succeeded.
    ASSERT_TRUE(scheduler_->SubmitTask({.id = "waiting", .type = "nobody"}));
    EXPECT_EQ(scheduler_->UpdateTaskStatus("waiting", Status::kSuccess).error().code,
              ErrorCode::kConflict);
}

// An order is billed once, however often the shop sends it.
TEST_F(TaskTest, UniqueKeyKeepsASecondOneAwayAndIsForTasksThatRunOnce) {
    Start();
    const Task bill{.id = "bill-7",
                    .type = "nobody",
                    .unique_key = "order-7",
                    .unique_for = std::chrono::minutes(5)};
    ASSERT_TRUE(scheduler_->SubmitTask(bill));
    const auto found = scheduler_->GetTask("bill-7");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->unique_key, bill.unique_key);
    EXPECT_EQ(found->unique_for, bill.unique_for);
    EXPECT_EQ(scheduler_->SubmitTask({.type = "nobody", .unique_key = "order-7"}).error().code,
              ErrorCode::kConflict);
    const auto nightly =
        scheduler_->SubmitTask({.type = "nobody", .unique_key = "k", .cron_expression = "@daily"});
    ASSERT_FALSE(nightly);
    EXPECT_EQ(nightly.error().field, "unique_key");
}

// A nightly job over its life: made, looked at, run by hand, paused, resumed, taken away.
TEST_F(TaskTest, RecurringTaskIsKeptAsItWasWritten) {
    Start();
    const Task nightly{.id = "nightly",
                       .name = "nightly report",
                       .type = "report",
                       .queue = "reports",
                       .priority = 3,
                       .payload = R"({"all":true})",
                       .metadata = {{"owner \"x\"", "me"}},
                       .labels = {{"zone", "a"}},
                       .executor = "group",
                       .load_balance_strategy = std::string(kStrategySticky),
                       .retry = {.max_retries = 4,
                                 .delay = 2s,
                                 .backoff_rate = 3.0,
                                 .delay_max = 60s,
                                 .jitter = 0.5},
                       .timeout = 1500ms,
                       .expires_after = 1h,
                       .concurrency_key = "db",
                       .concurrency_max = 2,
                       .rate_limit = {.count = 3, .per = 10s},
                       .cron_expression = "0 30 2 * * *",
                       .timezone = "Asia/Shanghai",
                       .dst = Dst::kTwice,
                       .start_at = Now() + 1h,
                       .end_at = Now() + 24h * 365,
                       .fires_max = 100,
                       .jitter = 5s,
                       .excluded_dates = {"2030-01-01"},
                       .execution_mode = ExecutionMode::kSkip,
                       .misfire_policy = MisfirePolicy::kFireAll,
                       .misfires_max = 7,
                       .backlog_max = 8,
                       .start_deadline = 10min,
                       .catch_up_after_pause = true,
                       .enabled = false};

    const auto made = scheduler_->SubmitTask(nightly);

    ASSERT_TRUE(made) << made.error().field << " " << made.error().message;
    const auto found = scheduler_->GetTask("nightly");
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->execution);
    EXPECT_FALSE(found->next_fire_at) << "it is paused";
    EXPECT_EQ(found->name, nightly.name);
    EXPECT_EQ(found->type, nightly.type);
    EXPECT_EQ(found->queue, nightly.queue);
    EXPECT_EQ(found->priority, nightly.priority);
    EXPECT_EQ(found->payload, nightly.payload);
    EXPECT_EQ(found->metadata, nightly.metadata);
    EXPECT_EQ(found->labels, nightly.labels);
    EXPECT_EQ(found->executor, nightly.executor);
    EXPECT_EQ(found->load_balance_strategy, nightly.load_balance_strategy);
    EXPECT_EQ(found->retry.max_retries, nightly.retry.max_retries);
    EXPECT_EQ(found->retry.delay, nightly.retry.delay);
    EXPECT_EQ(found->retry.backoff_rate, nightly.retry.backoff_rate);
    EXPECT_EQ(found->retry.delay_max, nightly.retry.delay_max);
    EXPECT_EQ(found->retry.jitter, nightly.retry.jitter);
    EXPECT_EQ(found->timeout, nightly.timeout);
    EXPECT_EQ(found->expires_after, nightly.expires_after);
    EXPECT_EQ(found->concurrency_key, nightly.concurrency_key);
    EXPECT_EQ(found->concurrency_max, nightly.concurrency_max);
    EXPECT_EQ(found->rate_limit.count, nightly.rate_limit.count);
    EXPECT_EQ(found->rate_limit.per, nightly.rate_limit.per);
    EXPECT_EQ(found->cron_expression, nightly.cron_expression);
    EXPECT_EQ(found->timezone, nightly.timezone);
    EXPECT_EQ(found->dst, nightly.dst);
    EXPECT_EQ(found->start_at, nightly.start_at);
    EXPECT_EQ(found->end_at, nightly.end_at);
    EXPECT_EQ(found->fires_max, nightly.fires_max);
    EXPECT_EQ(found->jitter, nightly.jitter);
    EXPECT_EQ(found->excluded_dates, nightly.excluded_dates);
    EXPECT_EQ(found->execution_mode, nightly.execution_mode);
    EXPECT_EQ(found->misfire_policy, nightly.misfire_policy);
    EXPECT_EQ(found->misfires_max, nightly.misfires_max);
    EXPECT_EQ(found->backlog_max, nightly.backlog_max);
    EXPECT_EQ(found->start_deadline, nightly.start_deadline);
    EXPECT_EQ(found->catch_up_after_pause, nightly.catch_up_after_pause);
    EXPECT_EQ(found->enabled, nightly.enabled);
}

TEST_F(TaskTest, RecurringTaskIsResumedTriggeredPausedAndDeleted) {
    Start();
    ASSERT_TRUE(
        scheduler_->SubmitTask({.id = "tick", .type = "tick", .cron_expression = "@daily"}));
    ASSERT_TRUE(scheduler_->SubmitTask({.id = "tock", .type = "tock", .interval = 24h}));

    EXPECT_FALSE(scheduler_->PauseTask("tick")->enabled);
    const auto resumed = scheduler_->ResumeTask("tick");
    ASSERT_TRUE(resumed);
    EXPECT_TRUE(resumed->enabled);
    EXPECT_TRUE(resumed->next_fire_at);
    const auto run = scheduler_->TriggerTask("tick", R"({"by": "hand"})");
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(run->task_id, "tick");
    EXPECT_EQ(run->origin, "trigger");
    EXPECT_EQ(run->payload, R"({"by": "hand"})");
    const auto page = scheduler_->ListTasks({.limit = 1});
    ASSERT_TRUE(page);
    ASSERT_EQ(page->items.size(), 1u);
    EXPECT_EQ(page->items[0].id, "tick");
    const auto rest = scheduler_->ListTasks({.limit = 1, .cursor = page->next_cursor});
    ASSERT_EQ(rest->items.size(), 1u);
    EXPECT_EQ(rest->items[0].id, "tock");
    EXPECT_TRUE(scheduler_->ListTasks({.name_contains = "tock"})->items.size() == 1u);
    ASSERT_TRUE(scheduler_->DeleteTask("tick"));
    EXPECT_EQ(scheduler_->GetTask("tick").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(scheduler_->PauseTask("tick").error().code, ErrorCode::kNotFound);
}

// A task for which nobody has a handler waits, and says so.
TEST_F(TaskTest, TaskOfAnUnknownTypeWaitsAndExplainsItself) {
    Start();
    auto worker = MakeWorker("w");
    worker->Handle("known", [](TaskContext&) { return TaskResult::Success(); });
    Join(*worker);

    const auto task = scheduler_->SubmitTask({.type = "unknown"});
    ASSERT_TRUE(task);
    const auto waited = scheduler_->WaitForTask(task->id, 20ms);

    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().code, ErrorCode::kTimeout);
    EXPECT_THAT(waited.error().message, HasSubstr("still pending"));
    EXPECT_THAT(*scheduler_->Explain(task->id), HasSubstr("unknown"));
    const auto pending = scheduler_->ListTasks(Status::kPending, 10);
    ASSERT_TRUE(pending);
    ASSERT_EQ(pending->size(), 1u);
    EXPECT_EQ(pending->front().id, task->id);
}

// Ten thousand rows become ten thousand tasks; the broken ones must not hold up the others.
TEST_F(TaskTest, ManyAreSubmittedAtOnceAndEachHasItsAnswer) {
    Start();
    const auto answers = scheduler_->SubmitTasks({{.id = "a", .type = "t"},
                                                  {.id = "not an id", .type = "t"},
                                                  {.id = "c", .type = "t", .priority = 77},
                                                  {.id = "d", .type = "t"}});

    ASSERT_TRUE(answers) << answers.error().message;
    ASSERT_EQ(answers->size(), 4u);
    EXPECT_EQ(*answers->at(0), "a");
    EXPECT_EQ(answers->at(1).error().code, ErrorCode::kInvalid);
    EXPECT_EQ(answers->at(1).error().field, "id");
    EXPECT_EQ(answers->at(2).error().field, "priority");
    EXPECT_EQ(*answers->at(3), "d");
    EXPECT_TRUE(scheduler_->SubmitTasks({})->empty());
    // Pages of one, in the order of their making, newest first.
    const auto first = scheduler_->ListExecutions({.type = "t", .limit = 1});
    ASSERT_TRUE(first);
    EXPECT_EQ(first->items.at(0).id, "d");
    const auto second =
        scheduler_->ListExecutions({.type = "t", .limit = 1, .cursor = first->next_cursor});
    EXPECT_EQ(second->items.at(0).id, "a");
}

// A submit whose answer was lost is sent again.
TEST_F(TaskTest, TheSameTaskAgainChangesNothingAndAnotherIsRefused) {
    Start();
    const Task task{.id = "order-7", .type = "ship", .payload = "1"};
    ASSERT_TRUE(scheduler_->SubmitTask(task));
    EXPECT_TRUE(scheduler_->SubmitTask(task));
    Task other = task;
    other.payload = "2";

    EXPECT_EQ(scheduler_->SubmitTask(other).error().code, ErrorCode::kConflict);
}

TEST_F(TaskTest, WhatCannotWorkIsRefusedWithTheFieldAtFault) {
    Start();
    const auto field_of = [&](const Task& task) {
        const auto refused = scheduler_->SubmitTask(task);
        EXPECT_FALSE(refused);
        if (refused) return std::string("accepted");
        EXPECT_EQ(refused.error().code, ErrorCode::kInvalid) << refused.error().message;
        return refused.error().field;
    };
    EXPECT_EQ(field_of({}), "name");
    EXPECT_EQ(field_of({.type = "t", .payload = "{not json"}), "payload");
    EXPECT_EQ(field_of({.type = "t", .priority = -1}), "priority");
    EXPECT_EQ(field_of({.type = "t", .timeout = -5s}), "timeout");
    EXPECT_EQ(field_of({.type = "t", .cron_expression = "61 * * * *"}), "cron_expression");
    EXPECT_EQ(field_of({.type = "t", .run_at = Now() + 1h, .delay = 1h}), "delay");
    EXPECT_EQ(field_of({.type = "t", .timezone = "Asia/Shanghai"}), "timezone");
    const auto strange = scheduler_->TriggerTask("x", "{");
    EXPECT_EQ(strange.error().field, "payload");
}

}  // namespace
}  // namespace takt::testing_support
