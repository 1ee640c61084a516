#include "alerts/alerts.h"

#include "api/test_alerts.h"

namespace takt::internal {
namespace {

// A reader of the trail finds the version that the answer told.
TEST(AlertsApi, TheAuditShowsTheVersionThatARuleHasAfterwards) {
    Ears ears;
    TestScheduler scheduler(Quick(ears));
    AwaitReady(scheduler);
    for (const char* threshold : {"1000", "2000"}) {
        const Answered put =
            scheduler.Put("/api/v1/alert-rules/mine",
                          R"({"metric": "tasks_pending", "operator": ">", "threshold": )" +
                              std::string(threshold) + "}");
        ASSERT_LT(put.status, 300) << put.body;
    }
    const Answered trail = scheduler.Get("/api/v1/audit?action=put");
    ASSERT_EQ(trail.status, 200) << trail.body;
    const auto& newest = trail.json.at("items").at(0);
    EXPECT_EQ(newest.at("before").at("version").to_number<int>(), 1) << trail.body;
    EXPECT_EQ(newest.at("after").at("version").to_number<int>(), 2);
}

// Somebody opens the page of rules for the first time.
TEST(AlertsApi, TheRulesThatComeWithTheSchedulerAreThere) {
    Ears ears;
    TestScheduler scheduler(Quick(ears));
    AwaitReady(scheduler);
    const Answered rules = scheduler.Get("/api/v1/alert-rules");
    ASSERT_EQ(rules.json.at("items").as_array().size(), 5u) << rules.body;
    const Answered rule = scheduler.Get("/api/v1/alert-rules/high_task_failure_rate");
    EXPECT_EQ(rule.Text("metric"), "task_failure_rate");
    EXPECT_EQ(rule.Text("operator"), ">");
    EXPECT_EQ(rule.json.at("threshold").to_number<double>(), 0.1);
    EXPECT_EQ(rule.Text("duration"), "5m");
    EXPECT_EQ(rule.Text("state"), "ok");
    EXPECT_TRUE(rule.json.at("builtin").as_bool());
    EXPECT_TRUE(rule.json.at("silenced_until").is_null());
    const Answered refused = scheduler.Delete("/api/v1/alert-rules/high_task_failure_rate");
    EXPECT_EQ(refused.status, 409);
    EXPECT_NE(refused.Text("detail").find("\"enabled\": false"), std::string::npos);
    EXPECT_EQ(scheduler.Get("/api/v1/alert-rules/nobody").status, 404);
    EXPECT_EQ(scheduler.Get("/api/v1/alert-metrics").json.at("items").as_array().size(),
              AlertMetrics().size());
}

TEST(AlertsApi, ARuleIsMadeChangedAndDeleted) {
    Ears ears;
    auto database = std::make_shared<MemoryDatabase>();
    {
        TestScheduler scheduler(Quick(ears, database));
        AwaitReady(scheduler);
        const Answered made = scheduler.Put("/api/v1/alert-rules/deep",
                                            R"({"metric": "tasks_pending", "operator": ">=",
            "threshold": 1000, "duration": "10m", "channels": ["ops"], "description": "too many"})");
        ASSERT_EQ(made.status, 201) << made.body;
        EXPECT_FALSE(made.json.at("builtin").as_bool());
        const auto field = [&](std::string body) {
            const Answered bad = scheduler.Put("/api/v1/alert-rules/deep", std::move(body));
            EXPECT_EQ(bad.status, 400) << bad.body;
            return bad.Text("field");
        };
        EXPECT_EQ(field(R"({"metric": "mood", "operator": ">", "threshold": 1})"), "metric");
        EXPECT_EQ(field(R"({"metric": "task_failure_rate", "operator": ">", "threshold": 5})"),
                  "threshold")
            << "five percent is 0.05";
        EXPECT_EQ(field(R"({"metric": "tasks_pending", "threshold": 1})"), "operator");
        EXPECT_EQ(field(R"({"metric": "tasks_pending", "operator": ">"})"), "threshold");
        EXPECT_EQ(field(R"({"metric": "tasks_pending", "operator": ">", "threshold": 1,
                            "channels": ["nobody"]})"),
                  "channels");
        EXPECT_EQ(field(R"({"metric": "tasks_pending", "operator": ">", "threshold": 1,
                            "colour": "red"})"),
                  "colour");
        EXPECT_EQ(field(R"({"metric": "tasks_pending", "operator": ">", "threshold": 1,
                            "duration": "30d"})"),
                  "duration");
    }
    // Another leader knows it.
    TestSchedulerOptions options = Quick(ears, database);
    options.node = "node-b";
    TestScheduler next(std::move(options));
    AwaitReady(next);
    EXPECT_EQ(next.Get("/api/v1/alert-rules/deep").Text("duration"), "10m");
    const Answered changed = next.Put("/api/v1/alert-rules/no_online_workers",
                                      R"({"metric": "workers_online", "operator": "<",
        "threshold": 3, "enabled": false})");
    EXPECT_EQ(changed.status, 200) << changed.body;
    EXPECT_TRUE(changed.json.at("builtin").as_bool());
    EXPECT_EQ(next.Delete("/api/v1/alert-rules/deep").status, 204);
    EXPECT_EQ(next.Get("/api/v1/alert-rules/deep").status, 404);
}

// The last worker leaves, somebody looks after it, a worker comes: the life of an alert.
TEST(AlertsApi, AnAlertFiresIsAcknowledgedAndResolves) {
    Ears ears;
    TestScheduler scheduler(Quick(ears));
    AwaitReady(scheduler);
    ASSERT_EQ(scheduler.Put("/api/v1/alert-rules/nobody_there", kNoWorkers).status, 201);
    const auto fired = ears.Await("nobody_there", AlertState::kFiring);
    ASSERT_TRUE(fired);
    const std::string id = fired->alert.id;
    Answered list = scheduler.Get("/api/v1/alerts?state=firing");
    ASSERT_EQ(list.json.at("items").as_array().size(), 1u) << list.body;
    const auto& alert = list.json.at("items").at(0);
    EXPECT_EQ(alert.at("id").as_string(), id);
    EXPECT_EQ(alert.at("severity").as_string(), "critical");
    EXPECT_TRUE(alert.at("resolved_at").is_null());
    EXPECT_TRUE(alert.at("acknowledged").is_null());
    EXPECT_EQ(scheduler.Get("/api/v1/alert-rules/nobody_there").Text("state"), "firing");

    const Answered seen =
        scheduler.Post("/api/v1/alerts/" + id + "/acknowledge", R"({"note": "on my way"})");
    ASSERT_EQ(seen.status, 200) << seen.body;
    EXPECT_EQ(seen.json.at("acknowledged").at("note").as_string(), "on my way");
    EXPECT_EQ(scheduler.Post("/api/v1/alerts/nobody/acknowledge").status, 404);
    const auto told = scheduler.Get("/api/v1/audit?action=acknowledge");
    ASSERT_EQ(told.json.at("items").as_array().size(), 1u);
    EXPECT_EQ(told.json.at("items").at(0).at("target").at("id").as_string(), id);
    EXPECT_EQ(told.json.at("items").at(0).at("after").at("note").as_string(), "on my way");

    scheduler.AttachWorker("w");
    ASSERT_TRUE(ears.Await("nobody_there", AlertState::kResolved));
    list = scheduler.Get("/api/v1/alerts?state=resolved");
    ASSERT_EQ(list.json.at("items").as_array().size(), 1u) << list.body;
    EXPECT_EQ(list.json.at("items").at(0).at("id").as_string(), id);
    EXPECT_EQ(scheduler.Post("/api/v1/alerts/" + id + "/acknowledge").status, 409);
    EXPECT_EQ(scheduler.Get("/api/v1/alerts?state=wrong").status, 400);
    const Answered metrics = scheduler.Get("/metrics");
    EXPECT_NE(
        metrics.body.find(
            "takt_alert_deliveries_total{namespace=\"default\",channel=\"ops\",result=\"ok\"} 2"),
        std::string::npos);
}

TEST(AlertsApi, ChannelsShowTheirLastDeliveryAndCanBeTested) {
    Ears ears;
    TestScheduler scheduler(Quick(ears));
    AwaitReady(scheduler);
    Answered channels = scheduler.Get("/api/v1/alert-channels");
    ASSERT_EQ(channels.json.at("items").as_array().size(), 2u);
    EXPECT_TRUE(channels.json.at("items").at(1).at("last_delivery").is_null());
    const Answered tested = scheduler.Post("/api/v1/alert-channels/ops/test");
    ASSERT_EQ(tested.status, 200) << tested.body;
    EXPECT_TRUE(tested.json.at("ok").as_bool());
    channels = scheduler.Get("/api/v1/alert-channels");
    EXPECT_TRUE(channels.json.at("items").at(1).at("last_delivery").at("ok").as_bool());
    EXPECT_EQ(scheduler.Post("/api/v1/alert-channels/nobody/test").status, 404);
}

// Two people change a rule; the second one must not undo what the first did without a word.
TEST(AlertsApi, ARuleIsNotOverwrittenSilently) {
    Ears ears;
    TestScheduler scheduler(Quick(ears));
    AwaitReady(scheduler);
    const std::string body = R"({"metric": "tasks_pending", "operator": ">", "threshold": 10})";
    const auto put = [&](std::string_view name, std::string_view value) {
        return scheduler.Send(HttpMethod::kPut, "/api/v1/alert-rules/deep", body,
                              {{std::string(name), std::string(value)}});
    };
    Answered made = put("If-None-Match", "*");
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(made.Header("ETag"), "\"1\"");
    EXPECT_EQ(put("If-None-Match", "*").status, 412);
    EXPECT_EQ(put("If-Match", "\"1\"").Header("ETag"), "\"2\"");
    const Answered late = put("If-Match", "\"1\"");
    EXPECT_EQ(late.status, 412);
    EXPECT_EQ(late.Text("code"), "precondition_failed");
    EXPECT_EQ(put("If-Match", "three").status, 400);
    EXPECT_EQ(scheduler.Get("/api/v1/alert-rules/no_online_workers").Header("ETag"), "\"0\"");
    EXPECT_EQ(
        scheduler.Send(HttpMethod::kDelete, "/api/v1/alert-rules/deep", "", {{"If-Match", "\"1\""}})
            .status,
        412);
    EXPECT_EQ(scheduler.Delete("/api/v1/alert-rules/deep").status, 204);
}

// A watcher of events sees each transition as the console draws it.
TEST(AlertsApi, EventsTellTheAlertAndNotASerial) {
    Event event;
    event.serial = 7;
    event.type = EventType::kAlert;
    event.at = *ParseTime("2026-11-15T02:00:00Z");
    Alert alert{.id = "0abc", .rule = "r", .message = "m \"q\"", .state = AlertState::kFiring};
    event.detail = Text(AlertEventText(alert));
    std::string text;
    JsonWriter json(text);
    WriteEvent(json, event, "default");
    const auto read = boost::json::parse(text);
    EXPECT_EQ(read.at("id").as_string(), "0abc");
    EXPECT_EQ(read.at("type").as_string(), "alert");
    EXPECT_EQ(read.at("state").as_string(), "firing");
    EXPECT_EQ(read.at("at").as_string(), "2026-11-15T02:00:00.000Z");
}

}  // namespace
}  // namespace takt::internal
