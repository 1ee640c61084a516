// Workers, queues, the scheduler itself, metrics and what is there without a leader.
#include <boost/json/serialize.hpp>

#include "api/test_scheduler.h"

namespace takt::internal {
namespace {

TEST(SchedulerApi, WorkersAreListedDrainedAndRemoved) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w-1", true);
    scheduler.Post("/api/v1/tasks", R"({"id": "held", "name": "n"})");
    scheduler.sink().Await(EventType::kTaskStarted, "held");

    const Answered list = scheduler.Get("/api/v1/workers");
    ASSERT_EQ(list.json.at("items").as_array().size(), 1u) << list.body;
    const Answered one = scheduler.Get("/api/v1/workers/w-1");
    EXPECT_EQ(one.Text("status"), "online");
    EXPECT_EQ(one.json.at("running").as_int64(), 1);
    EXPECT_EQ(one.json.at("capacity").as_int64(), 100);
    EXPECT_EQ(scheduler.Get("/api/v1/workers/none").status, 404);

    const Answered drained =
        scheduler.Post("/api/v1/workers/w-1/drain", R"({"reason": "kernel update"})");
    EXPECT_EQ(drained.Text("status"), "draining") << drained.body;
    EXPECT_EQ(drained.Text("status_reason"), "kernel update");
    EXPECT_EQ(scheduler.Get("/api/v1/metrics").json.at("workers_draining").as_int64(), 1);
    EXPECT_EQ(scheduler.Post("/api/v1/workers/w-1/resume").Text("status"), "online");
    EXPECT_EQ(scheduler.Post("/api/v1/workers/none/drain").status, 404);
    const Answered busy = scheduler.Delete("/api/v1/workers/w-1");
    EXPECT_EQ(busy.status, 409) << busy.body;
    EXPECT_NE(busy.Text("detail").find("has 1 executions in hand"), std::string::npos) << busy.body;
    EXPECT_EQ(scheduler.Delete("/api/v1/workers/w-1?force=perhaps").Text("field"), "force");
    EXPECT_EQ(scheduler.Delete("/api/v1/workers/w-1?force=true").status, 204);
    EXPECT_EQ(scheduler.Delete("/api/v1/workers/w-1").status, 404);
}

// A fleet of thousands is read in pages.
TEST(SchedulerApi, WorkersComeInPagesIfAskedTo) {
    TestScheduler scheduler;
    for (const char* id : {"c", "a", "b"}) scheduler.AttachWorker(id);

    const Answered all = scheduler.Get("/api/v1/workers");
    EXPECT_EQ(all.json.at("items").as_array().size(), 3u);
    EXPECT_TRUE(all.json.at("next_cursor").is_null());
    const Answered first = scheduler.Get("/api/v1/workers?limit=2");
    ASSERT_EQ(first.json.at("items").as_array().size(), 2u) << first.body;
    EXPECT_EQ(first.json.at("items").at(1).at("id").as_string(), "b");
    const Answered rest =
        scheduler.Get("/api/v1/workers?limit=2&cursor=" + first.Text("next_cursor"));
    ASSERT_EQ(rest.json.at("items").as_array().size(), 1u) << rest.body;
    EXPECT_EQ(rest.json.at("items").at(0).at("id").as_string(), "c");
    EXPECT_TRUE(rest.json.at("next_cursor").is_null());

    EXPECT_EQ(scheduler.Get("/api/v1/workers?limit=0").status, 400);
    EXPECT_EQ(scheduler.Get("/api/v1/workers?limit=1000000000").status, 400);
    EXPECT_EQ(scheduler.Get("/api/v1/workers?cursor=x").status, 400);
}

// A queue is stopped while its database is repaired, without touching the others.
TEST(SchedulerApi, PausedQueueStartsNothingAndKeepsItsLimits) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w");
    const Answered limited =
        scheduler.Put("/api/v1/queues/reports",
                      R"({"concurrency_max": 2, "rate_limit": {"count": 10, "per": "1m"}})");
    ASSERT_EQ(limited.status, 200) << limited.body;
    EXPECT_EQ(limited.json.at("concurrency_max").as_int64(), 2);
    const Answered paused = scheduler.Post("/api/v1/queues/reports/pause");
    EXPECT_TRUE(paused.json.at("paused").as_bool());
    EXPECT_EQ(paused.json.at("concurrency_max").as_int64(), 2);

    scheduler.Post("/api/v1/tasks", R"({"id": "r", "name": "n", "queue": "reports"})");
    scheduler.Post("/api/v1/tasks", R"({"id": "d", "name": "n"})");
    scheduler.sink().Await(EventType::kTaskCompleted, "d");
    EXPECT_EQ(scheduler.Get("/api/v1/executions/r").Text("status"), "pending");
    const Answered held = scheduler.Get("/api/v1/queues/reports");
    EXPECT_EQ(held.json.at("waiting").as_int64(), 1);
    EXPECT_EQ(held.json.at("ready").as_int64(), 0) << "it lacks more than a worker";
    scheduler.Post("/api/v1/queues/reports/resume");
    scheduler.sink().Await(EventType::kTaskCompleted, "r");
    EXPECT_EQ(scheduler.Get("/api/v1/queues").json.at("items").as_array().size(), 2u);
    EXPECT_EQ(scheduler.Get("/api/v1/queues/none").status, 404);
    const Answered bad = scheduler.Put("/api/v1/queues/q", R"({"concurrency_max": -1})");
    EXPECT_EQ(bad.status, 400);
    EXPECT_EQ(bad.Text("field"), "concurrency_max");
}

// An operator sets one limit of a queue that a colleague has paused for a repair.
TEST(SchedulerApi, ALimitOfAQueueIsChangedWithoutTouchingTheRest) {
    TestScheduler scheduler;
    scheduler.Put("/api/v1/queues/reports", R"({"concurrency_max": 2})");
    scheduler.Post("/api/v1/queues/reports/pause");

    const Answered paced =
        scheduler.Put("/api/v1/queues/reports", R"({"rate_limit": {"count": 10, "per": "1m"}})");
    ASSERT_EQ(paced.status, 200) << paced.body;
    EXPECT_TRUE(paced.json.at("paused").as_bool());
    EXPECT_EQ(paced.json.at("concurrency_max").as_int64(), 2);
    EXPECT_EQ(paced.json.at("rate_limit").at("count").as_int64(), 10);

    const Answered freed = scheduler.Put("/api/v1/queues/reports", R"({"concurrency_max": null})");
    EXPECT_TRUE(freed.json.at("paused").as_bool()) << freed.body;
    EXPECT_TRUE(freed.json.at("concurrency_max").is_null());
    EXPECT_EQ(freed.json.at("rate_limit").at("count").as_int64(), 10);

    const Answered resumed =
        scheduler.Put("/api/v1/queues/reports", R"({"paused": false, "rate_limit": null})");
    EXPECT_FALSE(resumed.json.at("paused").as_bool()) << resumed.body;
    EXPECT_TRUE(resumed.json.at("rate_limit").is_null());
}

// A queue is too fast for its database: somebody lowers the count, the time stays.
TEST(SchedulerApi, APartOfAQueuesRateIsChangedWithoutTouchingTheOther) {
    TestScheduler scheduler;
    scheduler.Put("/api/v1/queues/q", R"({"rate_limit": {"count": 10, "per": "1m"}})");
    const Answered fewer = scheduler.Put("/api/v1/queues/q", R"({"rate_limit": {"count": 5}})");
    EXPECT_EQ(fewer.json.at("rate_limit").at("count").as_int64(), 5) << fewer.body;
    EXPECT_EQ(fewer.json.at("rate_limit").at("per").as_string(), "1m");
    const Answered slower = scheduler.Put("/api/v1/queues/q", R"({"rate_limit": {"per": "1h"}})");
    EXPECT_EQ(slower.json.at("rate_limit").at("count").as_int64(), 5) << slower.body;
    EXPECT_EQ(scheduler.Put("/api/v1/queues/new", R"({"rate_limit": {"per": "1h"}})").Text("field"),
              "rate_limit.count");
    // How fast is not guessed.
    EXPECT_EQ(scheduler.Put("/api/v1/queues/new", R"({"rate_limit": {"count": 5}})").Text("field"),
              "rate_limit.per");
}

// An operator asks how fast a queue is, and fires that were dropped are not work.
TEST(SchedulerApi, AQueueSaysHowManyItFinishesPerSecond) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w");
    scheduler.Post("/api/v1/tasks", R"({"id": "one", "name": "n", "queue": "mail"})");
    scheduler.sink().Await(EventType::kTaskCompleted, "one");
    // Nothing runs any more, so that the second fire finds the first one still there.
    scheduler.Post("/api/v1/queues/mail/pause");
    scheduler.Put("/api/v1/tasks/often",
                  R"({"name": "n", "queue": "mail", "interval": "1h", "execution_mode": "skip"})");
    scheduler.Post("/api/v1/tasks/often/trigger");
    const Answered skipped = scheduler.Post("/api/v1/tasks/often/trigger");
    EXPECT_EQ(skipped.Text("status"), "skipped") << skipped.body;

    const Answered queue = scheduler.Get("/api/v1/queues/mail");
    EXPECT_EQ(queue.json.at("finished").as_int64(), 1) << queue.body;
    EXPECT_DOUBLE_EQ(queue.json.at("finished_per_second").as_double(), 0.1)
        << "one in metrics.interval, ten seconds";
    const std::string text = scheduler.Get("/metrics").body;
    EXPECT_NE(text.find("takt_queue_finished_total{namespace=\"default\",queue=\"mail\",status="
                        "\"success\"} 1\n"),
              text.npos);
    EXPECT_NE(text.find("takt_queue_finished_total{namespace=\"default\",queue=\"mail\",status="
                        "\"failed\"} 0\n"),
              text.npos);
}

// Lets the first worker have everything, as an embedding program might.
class FirstOne final : public Balancer {
  public:
    std::size_t Pick(const Execution&, std::uint64_t, std::span<const Choice>) override {
        return 0;
    }
};

TestSchedulerOptions WithOwnStrategy() {
    TestSchedulerOptions options;
    options.config.task_limits.own_strategies = {"first"};
    options.node_config.engine.balancers["first"] = [] { return std::make_unique<FirstOne>(); };
    return options;
}

// A field that does not exist is refused wherever it stands.
TEST(SchedulerApi, NothingIsOverlookedBesideAStrategyOfNull) {
    TestScheduler scheduler;
    const Answered refused =
        scheduler.Put("/api/v1/scheduler/strategy", R"({"strategy": null, "oops": 1})");
    EXPECT_EQ(refused.status, 400);
    EXPECT_EQ(refused.Text("field"), "oops");
    EXPECT_EQ(scheduler.Put("/api/v1/scheduler/strategy", R"({"strategy": null})").status, 200);
}

// A program that embeds Takt has a strategy of its own: it is found, switched to and asked for.
TEST(SchedulerApi, AnOwnStrategyIsListedAndTasksMayAskForIt) {
    TestScheduler scheduler(WithOwnStrategy());
    scheduler.AttachWorker("w");
    const Answered shown = scheduler.Get("/api/v1/scheduler/strategy");
    EXPECT_EQ(shown.json.at("available").as_array().size(), 10u) << shown.body;
    EXPECT_EQ(shown.json.at("available").as_array().back().as_string(), "custom:first");
    EXPECT_EQ(scheduler.Put("/api/v1/scheduler/strategy", R"({"strategy": "custom:first"})")
                  .Text("strategy"),
              "custom:first");

    const Answered made = scheduler.Post(
        "/api/v1/tasks", R"({"id": "t", "name": "n", "load_balance_strategy": "custom:first"})");
    EXPECT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(made.Text("load_balance_strategy"), "custom:first");
    scheduler.sink().Await(EventType::kTaskCompleted, "t");
    const Answered other = scheduler.Post(
        "/api/v1/tasks", R"({"name": "n", "load_balance_strategy": "custom:second"})");
    EXPECT_EQ(other.status, 400);
    EXPECT_NE(other.Text("detail").find("custom:first"), std::string::npos) << other.body;
}

// After an incident the operator wants what the configuration says, whatever that is.
TEST(SchedulerApi, ASwitchOfTheStrategyIsForgotten) {
    TestSchedulerOptions options;
    options.node_config.engine.strategy = Strategy::kSticky;
    TestScheduler scheduler(options);
    scheduler.Put("/api/v1/scheduler/strategy", R"({"strategy": "random"})");
    EXPECT_EQ(scheduler.Post("/api/v1/scheduler/strategy/reset").Text("strategy"), "random");
    EXPECT_EQ(scheduler.Put("/api/v1/scheduler/strategy", R"({"strategy": null})").Text("strategy"),
              "sticky");
    EXPECT_EQ(scheduler.Put("/api/v1/scheduler/strategy", R"({})").status, 400);
}

TEST(SchedulerApi, StrategyIsSwitchedAtRunTime) {
    TestScheduler scheduler;
    EXPECT_EQ(scheduler.Get("/api/v1/scheduler/strategy").Text("strategy"), "least_tasks");
    EXPECT_EQ(
        scheduler.Put("/api/v1/scheduler/strategy", R"({"strategy": "weighted"})").Text("strategy"),
        "weighted_round_robin");
    EXPECT_EQ(scheduler.Post("/api/v1/scheduler/strategy/reset").Text("strategy"),
              "weighted_round_robin");
    const Answered bad = scheduler.Put("/api/v1/scheduler/strategy", R"({"strategy": "best"})");
    EXPECT_EQ(bad.status, 400);
    EXPECT_EQ(bad.Text("field"), "strategy");
    EXPECT_EQ(
        scheduler.Put("/api/v1/scheduler/strategy", R"({"strategy": "custom:unheard-of"})").status,
        400);
}

TEST(SchedulerApi, StatusNamesNodeLeaderAndStore) {
    TestScheduler scheduler;
    const Answered status = scheduler.Get("/api/v1/scheduler/status");
    ASSERT_EQ(status.status, 200);
    EXPECT_EQ(status.Text("node_id"), "node-a");
    EXPECT_EQ(status.Text("role"), "leader");
    EXPECT_EQ(status.json.at("leader").at("node_id").as_string(), "node-a") << status.body;
    EXPECT_EQ(status.json.at("leader").at("address").as_string(), scheduler.address());
    EXPECT_EQ(status.json.at("epoch").as_int64(), 1);
    EXPECT_EQ(status.json.at("store").at("description").as_string(), "memory");
    EXPECT_EQ(scheduler.Get("/healthz").status, 200);
    EXPECT_EQ(scheduler.Get("/readyz").status, 200);
    EXPECT_EQ(scheduler.Get("/version").Text("name"), "takt");
}

TEST(SchedulerApi, MetricsCountWhatHappened) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w");
    scheduler.Post("/api/v1/tasks", R"({"id": "m", "name": "n"})");
    scheduler.sink().Await(EventType::kTaskCompleted, "m");
    const Answered json = scheduler.Get("/api/v1/metrics");
    EXPECT_EQ(json.json.at("tasks_total").as_int64(), 1) << json.body;
    EXPECT_EQ(json.json.at("tasks_completed").as_int64(), 1);
    EXPECT_EQ(json.json.at("workers_online").as_int64(), 1);
    EXPECT_GT(json.json.at("task_throughput").as_double(), 0);
    const Answered text = scheduler.Get("/metrics");
    for (const char* line :
         {"tasks_submitted_total{namespace=\"default\"} 1",
          "tasks_completed_total{namespace=\"default\"} 1",
          "tasks_failed_total{namespace=\"default\"} 0", "tasks_pending{namespace=\"default\"} 0",
          "tasks_running{namespace=\"default\"} 0", "workers_online{namespace=\"default\"} 1",
          "scheduler_is_leader{namespace=\"default\"} 1",
          "task_execution_duration_seconds_count{namespace=\"default\",type=\"n\"} 1",
          "worker_utilization{namespace=\"default\"} 0"}) {
        EXPECT_NE(text.body.find(line), std::string::npos) << line << "\n" << text.body;
    }
}

// Nobody works tonight: what waits is seen by how urgent it is, however long the queue.
TEST(SchedulerApi, MetricsCountWhatCouldStartByPriority) {
    TestScheduler scheduler;
    for (const char* priority : {"9", "5", "5", "0"}) {
        scheduler.Post("/api/v1/tasks",
                       R"({"name": "n", "priority": )" + std::string(priority) + "}");
    }
    scheduler.Post("/api/v1/tasks", R"({"name": "its time has not come", "delay": "1h"})");
    const Answered metrics = scheduler.Get("/api/v1/metrics");
    ASSERT_EQ(metrics.status, 200) << metrics.body;
    EXPECT_EQ(boost::json::serialize(metrics.json.at("tasks_ready")), "[1,0,0,0,0,2,0,0,0,1]");
    const Answered queue = scheduler.Get("/api/v1/queues/default");
    EXPECT_EQ(queue.json.at("waiting").as_int64(), 5);
    EXPECT_EQ(queue.json.at("ready").as_int64(), 4);
    // A worker alone would not help.
    scheduler.Post("/api/v1/queues/default/pause");
    EXPECT_EQ(boost::json::serialize(scheduler.Get("/api/v1/metrics").json.at("tasks_ready")),
              "[0,0,0,0,0,0,0,0,0,0]");
}

// A field that is left empty has a value that can be read, also where it is configured otherwise.
TEST(SchedulerApi, DefaultsAreThoseThatCount) {
    TestSchedulerOptions options;
    options.node_config.engine.timeout = std::chrono::minutes(2);
    options.node_config.engine.retry.retries_max = 7;
    TestScheduler scheduler(options);
    scheduler.Put("/api/v1/scheduler/strategy", R"({"strategy": "random"})");
    const Answered defaults = scheduler.Get("/api/v1/scheduler/defaults");
    EXPECT_EQ(defaults.Text("timeout"), "2m") << defaults.body;
    EXPECT_EQ(defaults.json.at("retry_policy").at("max_retries").as_int64(), 7);
    EXPECT_EQ(defaults.Text("strategy"), "random");
}

// A load balancer sends requests to every scheduler; only one of them leads.
TEST(SchedulerApi, FollowerReadsItselfAndPassesChangesOn) {
    const auto database = std::make_shared<MemoryDatabase>();
    TestScheduler leader({.database = database});
    TestScheduler follower({.node = "node-b", .database = database, .await_lead = false});
    leader.AttachWorker("w");

    // From its first look at the store on.
    follower.AwaitLeaderKnown();
    const Answered made = follower.Post("/api/v1/tasks", R"({"id": "f", "name": "n"})");
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(made.Header("Location"), "/api/v1/tasks/f");
    leader.sink().Await(EventType::kTaskCompleted, "f");
    EXPECT_EQ(follower.Get("/api/v1/executions/f").Text("status"), "success");
    EXPECT_EQ(follower.Get("/api/v1/workers").json.at("items").as_array().size(), 1u);
    EXPECT_EQ(follower.Post("/api/v1/tasks", R"({"nme": 1})").status, 400);
    const Answered status = follower.Get("/api/v1/scheduler/status");
    EXPECT_EQ(status.Text("role"), "follower");
    EXPECT_EQ(status.json.at("leader").at("node_id").as_string(), "node-a");
    EXPECT_EQ(status.json.at("nodes").as_array().size(), 2u);
    // A call that was passed on once is not passed on again.
    EXPECT_EQ(follower.Get("/api/v1/workers", {{"X-Takt-Forwarded", "node-z"}}).status, 503);
}

// The console is open at a scheduler that does not lead: it sees what happens all the same, from
// the address it came from, which is the only one that a browser lets it use.
TEST(SchedulerApi, FollowerHandsTheLeadersEventsOn) {
    const auto database = std::make_shared<MemoryDatabase>();
    TestScheduler leader({.database = database});
    TestScheduler follower({.node = "node-b", .database = database, .await_lead = false});
    leader.AttachWorker("w");
    follower.AwaitLeaderKnown();

    TestStream events(follower.address() + "/api/v1/events?type=task");
    events.AwaitHead();
    EXPECT_EQ(events.status(), 200);
    leader.Post("/api/v1/tasks", R"({"id": "seen", "name": "n"})");
    EXPECT_TRUE(events.Await("event: task.completed")) << events.text();
    EXPECT_TRUE(events.Await("\"execution_id\":\"seen\""));
    // A refusal comes through as it is.
    EXPECT_EQ(follower.Get("/api/v1/events", {{"X-Takt-Forwarded", "node-z"}}).status, 503);
    // The leader goes: the stream ends, and the client comes back to whoever leads then.
    leader.StopNode();
    EXPECT_TRUE(events.AwaitEnd());
}

// The only scheduler is being stopped: what it cannot do any more it says at once.
TEST(SchedulerApi, WithoutALeaderChangesAreRefusedAndReadsGoOn) {
    TestScheduler scheduler;
    scheduler.Post("/api/v1/tasks", R"({"id": "kept", "name": "n", "delay": "1h"})");
    scheduler.StopNode();
    const Answered refused = scheduler.Post("/api/v1/tasks", R"({"name": "n"})");
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.Text("code"), "no_leader");
    EXPECT_EQ(refused.Header("Retry-After"), "1");
    EXPECT_EQ(scheduler.Get("/api/v1/executions/kept").status, 200);
    EXPECT_EQ(scheduler.Get("/readyz").status, 503);
    EXPECT_EQ(scheduler.Get("/healthz").status, 200);
}

}  // namespace
}  // namespace takt::internal
