// The calls of operators: queues, locks, alerts, statistics, namespaces, the audit, tasks that change.
// Each goes over the network once here, so that what the REST API says is what the structs have.
#include <gmock/gmock.h>

#include "tests/sdk/sdk_testing.h"

namespace takt::testing_support {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class OperatorTest : public SdkTest {
  protected:
    void SetUp() override {
        Start();
        client_ = std::make_unique<Client>(ClientOptions{.servers = {scheduler_->url()}});
    }
    void RunWorker() {
        worker_ = MakeWorker("w");
        worker_->Handle("work", [](TaskContext& task) {
            task.Progress(0.25, "a quarter");
            task.Log("attempt " + std::to_string(task.attempt()));
            if (task.attempt() == 1) return TaskResult::Failure("not yet", 7);
            return TaskResult::Success(R"({"n": 1.50})");
        });
        Join(*worker_);
    }

    std::unique_ptr<Client> client_;
    std::unique_ptr<Worker> worker_;
};

// Two people change one task: the second one reads again before it writes.
TEST_F(OperatorTest, ATaskIsChangedOnlyInTheVersionThatWasRead) {
    ASSERT_TRUE(client_->SubmitTask({.id = "nightly",
                                     .type = "report",
                                     .retry = {.max_retries = 2, .delay = 3s},
                                     .cron_expression = "0 2 * * *",
                                     .timezone = "Asia/Shanghai"}));
    auto mine = client_->GetTask("nightly");
    auto other = client_->GetTask("nightly");
    ASSERT_TRUE(mine && other);
    mine->priority = kPriorityHigh;
    const auto changed = client_->UpdateTask(*mine);
    ASSERT_TRUE(changed) << changed.error().message;
    EXPECT_EQ(changed->priority, kPriorityHigh);
    EXPECT_EQ(changed->version, mine->version + 1);
    EXPECT_EQ(changed->timezone, "Asia/Shanghai") << "what was not touched stays";
    EXPECT_EQ(changed->retry.delay, 3s);

    other->name = "another";
    const auto late = client_->UpdateTask(*other);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kConflict);
    EXPECT_EQ(late.error().field, "version");
    EXPECT_TRUE(client_->UpdateTask(*other, 0)) << "whatever its version";

    const auto gone = client_->DeleteTask("nightly", SchedulerApi::WaitingRuns::kCancel, 1);
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().code, ErrorCode::kConflict);
    EXPECT_EQ(client_->UpdateTask({.id = "once"}, 0).error().code, ErrorCode::kInvalid);
    EXPECT_EQ(client_->UpdateTask({.type = "x", .interval = 1s}, 0).error().field, "id");
}

TEST_F(OperatorTest, ATaskIsLookedAtBeforeItIsMade) {
    const Task task{.id = "t", .type = "x", .cron_expression = "0 * * * *"};
    const auto fine = client_->ValidateTask(task);
    ASSERT_TRUE(fine) << fine.error().message;
    EXPECT_THAT(*fine, IsEmpty());
    const auto wrong = client_->ValidateTask(
        {.type = "x", .priority = 12, .payload = "{}", .cron_expression = "99 * * * *"});
    ASSERT_TRUE(wrong);
    ASSERT_THAT(*wrong, SizeIs(2));
    EXPECT_EQ((*wrong)[0].field, "priority");
    EXPECT_EQ(client_->ValidateTask({.payload = "{"})->front().field, "payload");

    const auto preview = client_->PreviewFires(task, 3);
    ASSERT_TRUE(preview) << preview.error().message;
    ASSERT_THAT(*preview, SizeIs(3));
    EXPECT_EQ((*preview)[1] - (*preview)[0], 1h);
    ASSERT_TRUE(client_->SubmitTask(task));
    EXPECT_EQ(client_->GetFires("t", 3).value(), *preview);
    const auto plan = client_->BackfillTask("t", Now() - 3h, {.dry_run = true});
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->count, 3u);
    EXPECT_FALSE(plan->run);
    EXPECT_THAT(plan->due, SizeIs(3));
    EXPECT_THAT(client_->ExplainTask("t").value(), HasSubstr("fire"));
}

TEST_F(OperatorTest, AnExecutionIsShownWithItsAttemptsAndItsLog) {
    RunWorker();
    const auto run = client_->Run({.type = "work",
                                   .metadata = {{"team", "billing"}},
                                   .retry = {.max_retries = 1, .delay = 10ms}},
                                  kPatience);
    ASSERT_TRUE(run) << run.error().message;
    const auto whole = client_->GetExecution(run->id);
    ASSERT_TRUE(whole);
    ASSERT_THAT(whole->attempts, SizeIs(2));
    EXPECT_EQ(whole->attempts[0].attempt, 1u);
    EXPECT_EQ(whole->attempts[0].worker_id, "w");
    EXPECT_EQ(whole->attempts[0].error.value().message, "not yet");
    EXPECT_EQ(whole->attempts[1].status, "success");
    EXPECT_EQ(whole->metadata.at("team"), "billing");
    EXPECT_EQ(whole->result, R"({"n": 1.50})");
    ASSERT_TRUE(Eventually([&] { return client_->ReadLog(run->id)->items.size() == 2; }));
    EXPECT_EQ(client_->ReadLog(run->id)->items[1].attempt, 2u);
    EXPECT_EQ(client_->GetLog(run->id).value(), "attempt 1\nattempt 2\n");
    const auto counts = client_->CountExecutions({.metadata = "team=billing"});
    ASSERT_TRUE(counts) << counts.error().message;
    EXPECT_EQ(counts->total, 1u);
    EXPECT_TRUE(counts->complete);
    EXPECT_EQ(counts->by_status.at(Status::kSuccess), 1u);
    EXPECT_THAT(client_->ListExecutions({.search = "billing"})->items, SizeIs(1));
}

TEST_F(OperatorTest, ManyAreEndedAndRunAgainAtOnce) {
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(client_->SubmitTask({.type = "nobody"}));
    const auto some = client_->CancelExecutions({.type = "nobody", .limit = 3});
    ASSERT_TRUE(some) << some.error().message;
    EXPECT_EQ(some->changed, 3u);
    EXPECT_FALSE(some->next_cursor.empty());
    const auto rest =
        client_->CancelExecutions({.type = "nobody", .limit = 3, .cursor = some->next_cursor});
    ASSERT_TRUE(rest);
    EXPECT_EQ(rest->changed, 2u);
    const auto again =
        client_->RetryExecutions({.statuses = {Status::kCancelled}, .type = "nobody"});
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->changed, 5u);
    EXPECT_EQ(client_->RetryExecutions({.statuses = {Status::kRunning}}).error().field, "status");
    EXPECT_EQ(client_->CancelExecutions({.parent_id = "x"}).error().field, "parent_id");
}

TEST_F(OperatorTest, ARunIsShownStepByStep) {
    RunWorker();
    const auto run = client_->Run(
        {.name = "flow",
         .steps = {{.name = "one", .type = "work", .retry = {.max_retries = 1, .delay = 10ms}},
                   {.name = "two",
                    .type = "work",
                    .after = {"one"},
                    .shards = 2,
                    .retry = {.max_retries = 1, .delay = 10ms}}}},
        kPatience);
    ASSERT_TRUE(run) << run.error().message;
    const auto shown = client_->GetRun(run->id);
    ASSERT_TRUE(shown) << shown.error().message;
    EXPECT_EQ(shown->status, "success");
    ASSERT_THAT(shown->steps, SizeIs(2));
    EXPECT_EQ(shown->steps[0].result, R"({"n": 1.50})");
    EXPECT_EQ(shown->steps[1].after, std::vector<std::string>{"one"});
    EXPECT_EQ(shown->steps[1].success, 2u);
    const auto parts = client_->ListExecutions({.parent_id = run->id});
    ASSERT_TRUE(parts) << parts.error().message;
    EXPECT_THAT(parts->items, SizeIs(3));
    EXPECT_EQ(parts->items.front().parent_id, run->id);
    EXPECT_EQ(client_->GetRun("nobody").error().code, ErrorCode::kNotFound);
}

TEST_F(OperatorTest, AQueueIsPausedAndLimited) {
    const auto set =
        client_->SetQueueLimits("media", {.concurrency_max = 3, .rate_limit = RateLimit{10, 2s}});
    ASSERT_TRUE(set) << set.error().message;
    EXPECT_EQ(set->concurrency_max, 3u);
    EXPECT_EQ(set->rate_limit.count, 10u);
    EXPECT_EQ(set->rate_limit.per, 2s);
    EXPECT_TRUE(client_->PauseQueue("media")->paused);
    ASSERT_TRUE(client_->SubmitTask({.type = "x", .queue = "media"}));
    const auto queue = client_->GetQueue("media");
    ASSERT_TRUE(queue);
    EXPECT_EQ(queue->waiting, 1u);
    EXPECT_TRUE(queue->oldest_wait);
    EXPECT_THAT(client_->ExplainQueue("media").value(), HasSubstr("paused"));
    EXPECT_FALSE(client_->ResumeQueue("media")->paused);
    const auto cleared = client_->SetQueueLimits("media", {.concurrency_max = 0});
    EXPECT_EQ(cleared->concurrency_max, 0u);
    EXPECT_EQ(cleared->rate_limit.count, 10u) << "what is left out stays";
    EXPECT_EQ(client_->SetQueueLimits("media", {.rate_limit = RateLimit{}})->rate_limit.count, 0u);
    EXPECT_FALSE(client_->ListQueues()->empty());
    EXPECT_EQ(client_->GetQueue("no such").error().field, "name");
    EXPECT_EQ(client_->GetQueue("nothing").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(client_->GetQueue("").error().field, "name");
    EXPECT_EQ(client_->SetQueueLimits("media", {.rate_limit = RateLimit{1, 0s}}).error().code,
              ErrorCode::kInvalid);
}

TEST_F(OperatorTest, ALockIsLookedAtAndTakenAway) {
    ASSERT_TRUE(client_->SetLockPermits("ledger", 2));
    const auto held = client_->Lock("ledger", {.owner = "the test"});
    ASSERT_TRUE(held) << held.error().message;
    const auto lock = client_->GetLock("ledger");
    ASSERT_TRUE(lock);
    EXPECT_EQ(lock->permits, 2u);
    EXPECT_EQ(lock->taken, 1u);
    ASSERT_THAT(lock->holders, SizeIs(1));
    EXPECT_EQ(lock->holders[0].owner, "the test");
    EXPECT_EQ(lock->holders[0].token, held->token());
    EXPECT_THAT(client_->ListLocks()->items, SizeIs(1));
    const auto taken = client_->TakeLockAway("ledger", held->lock_id());
    ASSERT_TRUE(taken) << taken.error().message;
    EXPECT_EQ(taken->taken, 0u);
    EXPECT_EQ(client_->SetLockPermits("ledger", 0).error().field, "permits");
}

TEST_F(OperatorTest, ARuleFiresAndIsLookedAfter) {
    const AlertRule rule{.name = "nothing-waits",
                         .description = "for the test",
                         .metric = "tasks_pending",
                         .comparison = "<=",
                         .threshold = 0,
                         .severity = AlertSeverity::kCritical};
    const auto put = client_->PutAlertRule(rule);
    ASSERT_TRUE(put) << put.error().message;
    EXPECT_EQ(put->severity, AlertSeverity::kCritical);
    EXPECT_FALSE(put->builtin);
    EXPECT_EQ(client_->GetAlertRule("nothing-waits")->description, "for the test");
    ASSERT_TRUE(Eventually([&] {
        const auto alerts = client_->ListAlerts(AlertState::kFiring);
        return alerts && !alerts->empty();
    }));
    const Alert alert = client_->ListAlerts(AlertState::kFiring)->front();
    EXPECT_EQ(alert.rule, "nothing-waits");
    EXPECT_EQ(alert.firing_value, 0);
    EXPECT_FALSE(alert.acknowledged);
    const auto noted = client_->AcknowledgeAlert(alert.id, "on it");
    ASSERT_TRUE(noted) << noted.error().message;
    EXPECT_EQ(noted->acknowledged.value().note, "on it");
    EXPECT_TRUE(client_->SilenceAlertRule("nothing-waits", 1h)->silenced_until);
    EXPECT_FALSE(client_->SilenceAlertRule("nothing-waits", 0s)->silenced_until);
    ASSERT_TRUE(client_->DeleteAlertRule("nothing-waits"));
    EXPECT_EQ(client_->GetAlertRule("nothing-waits").error().code, ErrorCode::kNotFound);
    EXPECT_FALSE(client_->ListAlertRules()->empty()) << "those that are built in";
    EXPECT_FALSE(client_->ListAlertMetrics()->empty());
    EXPECT_EQ(client_->ListAlertChannels().value().at(0).name, "log");
    EXPECT_EQ(client_->TestAlertChannel("nobody").error().code, ErrorCode::kNotFound);

    AlertRule wrong = rule;
    wrong.comparison = "=>";
    EXPECT_EQ(client_->PutAlertRule(wrong).error().field, "comparison");
    wrong = rule;
    wrong.metric = "nonsense";
    EXPECT_EQ(client_->PutAlertRule(wrong).error().field, "metric");
    EXPECT_EQ(client_->PutAlertRule({}).error().field, "name");
}

// Somebody reads a rule, changes a number and puts it back.
TEST_F(OperatorTest, ARuleThatIsReadAndPutBackStaysAsNarrowAsItWas) {
    const auto put = client_->PutAlertRule({.name = "nightly-is-late",
                                            .metric = "run_lateness_seconds",
                                            .comparison = ">",
                                            .threshold = 60,
                                            .subject = "nightly"});
    ASSERT_TRUE(put) << put.error().message;
    EXPECT_EQ(put->version, 1u);
    auto read = client_->GetAlertRule("nightly-is-late");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->subject, "nightly");
    read->threshold = 90;
    const auto changed = client_->PutAlertRule(*read, read->version);
    ASSERT_TRUE(changed) << changed.error().message;
    EXPECT_EQ(changed->subject, "nightly");
    EXPECT_EQ(changed->version, 2u);
    const auto late = client_->PutAlertRule(*read, read->version);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kConflict);
    EXPECT_EQ(late.error().field, "version");
}

TEST_F(OperatorTest, WhatRanIsAddedUp) {
    RunWorker();
    ASSERT_TRUE(
        client_->Run({.type = "work", .retry = {.max_retries = 1, .delay = 10ms}}, kPatience));
    ASSERT_TRUE(Eventually([&] {
        const auto lines = client_->GetStatistics({.by = StatisticsBy::kType});
        return lines && lines->size() == 1 && lines->front().total == 1;
    }));
    const StatisticsLine line = client_->GetStatistics({.by = StatisticsBy::kType})->front();
    EXPECT_EQ(line.key, "work");
    EXPECT_EQ(line.success, 1u);
    EXPECT_EQ(line.retries, 1u);
    EXPECT_EQ(line.success_rate, 1.0);
    EXPECT_TRUE(line.duration.max);
    EXPECT_EQ(line.last_status, Status::kSuccess);
    const auto series = client_->GetSeries(5);
    ASSERT_TRUE(series) << series.error().message;
    EXPECT_GT(series->step, 0s);
    EXPECT_EQ(client_->GetSeries(0).error().field, "minutes");
    EXPECT_EQ(client_->GetStatistics({.from = Now(), .to = Now() - 1h}).error().code,
              ErrorCode::kInvalid);
}

TEST_F(OperatorTest, ANamespaceIsMadeChangedAndDeleted) {
    const auto made = client_->CreateNamespace(
        {.name = "billing",
         .quotas = {.executions_waiting = 10},
         .settings = {.timeout = 5min, .retry_policy = RetryPolicy{.max_retries = 4}}});
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->quotas.executions_waiting, 10u);
    EXPECT_EQ(made->settings.timeout, 5min);
    EXPECT_EQ(made->settings.retry_policy.value().max_retries, 4u);
    EXPECT_EQ(made->state, "active");
    NamespaceRecord changed = *made;
    changed.quotas = {.workers = 3};
    changed.settings.retry_policy.reset();
    const auto put = client_->UpdateNamespace(changed);
    ASSERT_TRUE(put) << put.error().message;
    EXPECT_EQ(put->quotas.executions_waiting, 0u) << "a quota that is left out is none";
    EXPECT_EQ(put->quotas.workers, 3u);
    EXPECT_FALSE(put->settings.retry_policy);
    EXPECT_EQ(put->settings.timeout, 5min);
    EXPECT_THAT(client_->ListNamespaces().value(), SizeIs(2));
    EXPECT_EQ(client_->CreateNamespace({.name = "billing"}).error().code, ErrorCode::kConflict);
    EXPECT_EQ(client_->CreateNamespace({.name = "No"}).error().field, "name");
    const auto gone = client_->DeleteNamespace("billing");
    ASSERT_TRUE(gone) << gone.error().message;
    EXPECT_NE(gone->state, "active");
    EXPECT_EQ(client_->GetNamespace("nobody").error().code, ErrorCode::kNotFound);
}

TEST_F(OperatorTest, TheAuditSaysWhoDidWhat) {
    ASSERT_TRUE(client_->PauseQueue("media"));
    const auto page = client_->ListAudit({.target = "media"});
    ASSERT_TRUE(page) << page.error().message;
    ASSERT_THAT(page->items, SizeIs(1));
    EXPECT_EQ(page->items[0].target_kind, "queue");
    EXPECT_EQ(page->items[0].who, "open");
    EXPECT_FALSE(page->items[0].refused);
    EXPECT_THAT(client_->ListAudit({.refused = true})->items, IsEmpty());
    EXPECT_EQ(client_->ListAudit({.limit = 0}).error().field, "limit");
}

TEST_F(OperatorTest, WhatHasNoCallOfItsOwnIsAskedAsText) {
    EXPECT_THAT(client_->CallRest("GET", "/api/v1/tokens").value(), HasSubstr("items"));
    EXPECT_THAT(scheduler_->CallRest("GET", "/version").value(), HasSubstr("version"));
    EXPECT_EQ(client_->CallRest("FETCH", "/api/v1/tokens").error().field, "method");
    EXPECT_EQ(client_->CallRest("GET", "tokens").error().field, "path");
    EXPECT_EQ(client_->CallRest("GET", "/api/v1/nothing").error().code, ErrorCode::kNotFound);
}

// One that is no JSON at all must not cost the other 9,999 their submit.
TEST_F(OperatorTest, OneOfManyTasksThatIsNoJsonIsRefusedAlone) {
    const auto all = client_->SubmitTasks(
        {{.id = "a", .type = "x"}, {.type = "x", .payload = "{"}, {.id = "c", .type = "x"}});
    ASSERT_TRUE(all) << all.error().message;
    ASSERT_THAT(*all, SizeIs(3));
    EXPECT_EQ((*all)[0].value(), "a");
    EXPECT_EQ((*all)[1].error().field, "payload");
    EXPECT_EQ((*all)[2].value(), "c");
}

}  // namespace
}  // namespace takt::testing_support
