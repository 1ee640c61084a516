#include <thread>

#include "api/test_scheduler.h"

namespace takt::internal {
namespace {

// Somebody submits a job with curl and looks whether it ran.
TEST(Tasks, OneOffTaskRunsAndShowsItsResult) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w-1");

    const Answered made =
        scheduler.Post("/api/v1/tasks", R"({"name": "hello", "payload": {"b": 1, "a": 2.50}})");

    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_TRUE(made.body.starts_with("{\"id\":")) << made.body;
    const std::string id = made.Text("id");
    EXPECT_EQ(made.Header("Location"), "/api/v1/tasks/" + id);
    EXPECT_EQ(made.Text("type"), "hello");
    EXPECT_EQ(made.Text("queue"), "default");
    // As it was sent, letter by letter.
    EXPECT_NE(made.body.find(R"({"b": 1, "a": 2.50})"), std::string::npos);
    scheduler.sink().Await(EventType::kTaskCompleted, id);
    const Answered ran = scheduler.Get("/api/v1/executions/" + id);
    EXPECT_EQ(ran.status, 200);
    EXPECT_EQ(ran.Text("status"), "success");
    EXPECT_EQ(ran.Text("worker_id"), "w-1");
    EXPECT_NE(ran.body.find(R"("result":{"rows": 3})"), std::string::npos) << ran.body;
    const Answered task = scheduler.Get("/api/v1/tasks/" + id);
    EXPECT_EQ(task.Text("status"), "success");
}

// The lines of another kit's README, as written there.
TEST(Tasks, CurlLinesOfTheSeedWork) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w-1");
    const Answered made = scheduler.Post("/api/v1/tasks", R"({
    "name": "hourly_sync",
    "cron_expression": "0 0 * * * *",
    "execution_mode": "parallel",
    "load_balance_strategy": "least_loaded",
    "max_retry": 3,
    "timeout_seconds": 600,
    "parameters": {
      "source": "database_a",
      "target": "database_b"
    }
  })");
    ASSERT_EQ(made.status, 201) << made.body;
    const std::string id = made.Text("id");
    EXPECT_EQ(made.json.at("timeout_seconds").as_int64(), 600);
    EXPECT_EQ(made.json.at("max_retry").as_int64(), 3);
    EXPECT_EQ(made.Text("load_balance_strategy"), "least_tasks");

    const Answered run = scheduler.Post("/api/v1/tasks/" + id + "/trigger", R"({
    "parameters": {
      "force": true
    }
  })");
    ASSERT_EQ(run.status, 201) << run.body;
    EXPECT_EQ(run.Text("task_id"), id);
    scheduler.sink().Await(EventType::kTaskCompleted, run.Text("id"));

    const Answered history =
        scheduler.Get("/api/v1/executions?task_id=" + id + "&status=success&limit=10");
    ASSERT_EQ(history.status, 200) << history.body;
    EXPECT_EQ(history.json.at("items").as_array().size(), 1u);
    EXPECT_TRUE(history.json.at("next_cursor").is_null());
    const Answered status = scheduler.Get("/api/v1/scheduler/status");
    EXPECT_EQ(status.Text("role"), "leader");
}

// A client that got no answer sends the same request again.
TEST(Tasks, SameRequestTwiceMakesOneTask) {
    TestScheduler scheduler;
    const std::string body = R"({"id": "report-1", "name": "report", "delay": "1h"})";
    EXPECT_EQ(scheduler.Post("/api/v1/tasks", body).status, 201);
    EXPECT_EQ(scheduler.Post("/api/v1/tasks", body).status, 200);
    const Answered other =
        scheduler.Post("/api/v1/tasks", R"({"id": "report-1", "name": "another"})");
    EXPECT_EQ(other.status, 409);
    EXPECT_EQ(other.Text("code"), "conflict");
    EXPECT_EQ(other.Text("field"), "id");
    EXPECT_EQ(other.Header("Content-Type"), "application/problem+json");

    const HttpHeaderList key = {{"Idempotency-Key", "order 4711 / mail"}};
    const Answered first = scheduler.Post("/api/v1/tasks", R"({"name": "m", "delay": 60})", key);
    const Answered again = scheduler.Post("/api/v1/tasks", R"({"name": "m", "delay": 60})", key);
    EXPECT_EQ(first.status, 201);
    EXPECT_EQ(again.status, 200);
    EXPECT_EQ(first.Text("id"), again.Text("id"));
    EXPECT_EQ(scheduler.Post("/api/v1/tasks", R"({"name": "x"})", key).status, 409);
}

// Its answer was lost; nobody wants the report twice.
TEST(Tasks, ATriggerThatIsRepeatedRunsOnce) {
    TestScheduler scheduler;
    scheduler.Put("/api/v1/tasks/report", R"({"name": "n", "interval": "1h"})");
    const HttpHeaderList key = {{"Idempotency-Key", "monday"}};
    const std::string path = "/api/v1/tasks/report/trigger";
    const Answered first = scheduler.Post(path, R"({"parameters": 1})", key);
    const Answered again = scheduler.Post(path, R"({"parameters": 1})", key);
    EXPECT_EQ(first.status, 201);
    EXPECT_EQ(again.status, 200);
    EXPECT_EQ(first.Text("id"), again.Text("id"));
    EXPECT_EQ(scheduler.Post(path, R"({"parameters": 2})", key).status, 409);

    EXPECT_EQ(scheduler.Post(path, R"({"id": "mine"})").Text("id"), "mine");
    EXPECT_EQ(scheduler.Post(path, R"({"id": "mine"})").status, 200);
    EXPECT_EQ(scheduler.Post(path, R"({"id": "no good"})").status, 400);
    EXPECT_EQ(scheduler.Post(path, "", {{"Idempotency-Key", std::string(256, 'x')}}).status, 400);
}

// A job that is run on Monday uses the day's name as its key, wherever it asks for something.
TEST(Tasks, AKeyMeansSomethingElseToASubmitAndToEachTrigger) {
    TestScheduler scheduler;
    scheduler.Put("/api/v1/tasks/report", R"({"name": "n", "interval": "1h"})");
    scheduler.Put("/api/v1/tasks/other", R"({"name": "n", "interval": "1h"})");
    const HttpHeaderList key = {{"Idempotency-Key", "monday"}};
    const Answered submitted = scheduler.Post("/api/v1/tasks", R"({"name": "once"})", key);
    const Answered triggered = scheduler.Post("/api/v1/tasks/report/trigger", "", key);
    const Answered other = scheduler.Post("/api/v1/tasks/other/trigger", "", key);
    EXPECT_EQ(submitted.status, 201);
    EXPECT_EQ(triggered.status, 201) << triggered.body;
    EXPECT_EQ(other.status, 201) << other.body;
    EXPECT_EQ(other.Text("task_id"), "other");
    EXPECT_EQ(scheduler.Post("/api/v1/tasks", R"({"name": "once"})", key).Text("id"),
              submitted.Text("id"));
}

// Somebody paused a task and puts it back to what it is by default.
TEST(Tasks, NullOfEnabledResumes) {
    TestScheduler scheduler;
    scheduler.Put("/api/v1/tasks/t", R"({"name": "n", "interval": "1h", "enabled": false})");
    EXPECT_FALSE(scheduler.Get("/api/v1/tasks/t").json.at("enabled").as_bool());
    EXPECT_TRUE(
        scheduler.Patch("/api/v1/tasks/t", R"({"enabled": null})").json.at("enabled").as_bool());
}

// Two operators edit the same task at the same time: the second must not undo the first unseen.
TEST(Tasks, ChangeOfAnOldVersionIsRefused) {
    TestScheduler scheduler;
    const Answered made = scheduler.Put("/api/v1/tasks/nightly",
                                        R"({"name": "nightly", "cron_expression": "0 2 * * *"})");
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(made.Header("ETag"), "\"1\"");

    const Answered changed = scheduler.Patch("/api/v1/tasks/nightly", R"({"priority": "high"})",
                                             {{"If-Match", "\"1\""}});
    ASSERT_EQ(changed.status, 200) << changed.body;
    EXPECT_EQ(changed.Header("ETag"), "\"2\"");
    EXPECT_EQ(changed.json.at("priority").as_int64(), 7);
    EXPECT_EQ(changed.Text("cron_expression"), "0 2 * * *");
    const Answered late =
        scheduler.Patch("/api/v1/tasks/nightly", R"({"priority": 1})", {{"If-Match", "\"1\""}});
    EXPECT_EQ(late.status, 412) << late.body;
    EXPECT_EQ(scheduler.Delete("/api/v1/tasks/nightly", {{"If-Match", "\"1\""}}).status, 412);
    for (const char* action : {"/pause", "/resume"}) {
        const Answered old = scheduler.Post(std::string("/api/v1/tasks/nightly") + action, {},
                                            {{"If-Match", "\"1\""}});
        EXPECT_EQ(old.status, 412) << action << old.body;
        EXPECT_EQ(old.Text("field"), "If-Match") << old.body;
    }
    const Answered paused =
        scheduler.Post("/api/v1/tasks/nightly/pause", {}, {{"If-Match", "\"2\""}});
    EXPECT_EQ(paused.status, 200) << paused.body;
    EXPECT_EQ(paused.Header("ETag"), "\"3\"");
    EXPECT_EQ(scheduler.Post("/api/v1/tasks/nightly/pause", {}, {{"If-Match", "new"}}).status, 400);
    EXPECT_EQ(scheduler.Post("/api/v1/tasks/nightly/resume", {}, {{"If-Match", "*"}}).status, 200);

    const Answered read = scheduler.Get("/api/v1/tasks/nightly");
    EXPECT_EQ(scheduler.Put("/api/v1/tasks/nightly", read.body).status, 200) << "sent back as read";
    EXPECT_EQ(scheduler.Delete("/api/v1/tasks/nightly").status, 200);
    EXPECT_EQ(scheduler.Get("/api/v1/tasks/nightly").status, 404);
}

// A caller that names no version has its change made, however many others change the task meanwhile.
TEST(Tasks, ChangesAtTheSameTimeAreAllMade) {
    TestScheduler scheduler;
    ASSERT_EQ(
        scheduler.Put("/api/v1/tasks/t", R"({"name": "t", "cron_expression": "0 2 * * *"})").status,
        201);
    constexpr int kClients = 8;
    constexpr int kChanges = 10;
    std::atomic<int> made = 0;
    {
        std::vector<std::jthread> clients;
        for (int client = 0; client < kClients; ++client) {
            clients.emplace_back([&] {
                auto http = BlockingHttpClient::Create({}).value();
                for (int change = 0; change < kChanges; ++change) {
                    const auto answer =
                        http->Send({.method = HttpMethod::kPatch,
                                    .url = scheduler.address() + "/api/v1/tasks/t",
                                    .headers = {{"Content-Type", "application/json"}},
                                    .body = R"({"priority": 7})"});
                    if (answer && answer->status == 200) ++made;
                }
            });
        }
    }
    EXPECT_EQ(made, kClients * kChanges);
    EXPECT_EQ(scheduler.Get("/api/v1/tasks/t").json.at("version").as_int64(),
              1 + kClients * kChanges);
}

// Null takes a field back to its default; what is not named stays.
TEST(Tasks, PatchWithNullIsTheDefault) {
    TestScheduler scheduler;
    scheduler.Put("/api/v1/tasks/t", R"({"name": "t", "interval": "1h", "max_retry": 9,
        "metadata": {"team": "a\"b"}})");
    const Answered changed =
        scheduler.Patch("/api/v1/tasks/t", R"({"max_retry": null, "timezone": "Asia/Shanghai"})");
    ASSERT_EQ(changed.status, 200) << changed.body;
    EXPECT_EQ(changed.Text("max_retry"), "(absent)");
    EXPECT_EQ(changed.Text("interval"), "1h");
    EXPECT_EQ(changed.json.at("metadata").at("team").as_string(), "a\"b");
}

TEST(Tasks, PausedTaskHasNoNextFire) {
    TestScheduler scheduler;
    const Answered made = scheduler.Post(
        "/api/v1/tasks", R"({"id": "p", "name": "p", "cron": "@hourly", "enabled": false})");
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_FALSE(made.json.at("enabled").as_bool());
    EXPECT_EQ(made.json.at("version").as_int64(), 1);
    EXPECT_TRUE(made.json.at("next_fire_at").is_null());
    const Answered fires = scheduler.Get("/api/v1/tasks/p/fires");
    EXPECT_EQ(fires.json.at("fires").as_array().size(), 0u);
    EXPECT_EQ(scheduler.Post("/api/v1/tasks/p/resume").json.at("enabled").as_bool(), true);
    EXPECT_EQ(scheduler.Get("/api/v1/tasks/p/fires?count=3").json.at("fires").as_array().size(),
              3u);
    EXPECT_EQ(scheduler.Post("/api/v1/tasks/p/pause").json.at("enabled").as_bool(), false);
    EXPECT_EQ(scheduler.Post("/api/v1/tasks/none/pause").status, 404);
}

// Somebody writes a cron expression and wants to see what it means before using it.
TEST(Tasks, PreviewShowsTheNextFiresAndTheFault) {
    TestScheduler scheduler;
    const Answered shown = scheduler.Post("/api/v1/tasks/preview", R"({"cron_expression":
        "0 2 * * *", "timezone": "Asia/Shanghai", "count": 2, "after": "2026-11-15T00:00:00Z"})");
    ASSERT_EQ(shown.status, 200) << shown.body;
    EXPECT_EQ(shown.json.at("fires").at(0).as_string(), "2026-11-15T18:00:00.000Z");
    EXPECT_EQ(shown.json.at("fires").as_array().size(), 2u);
    EXPECT_NE(shown.Text("description"), "(absent)");

    const Answered bad =
        scheduler.Post("/api/v1/tasks/preview", R"({"cron_expression": "0 61 * * *"})");
    EXPECT_EQ(bad.status, 400);
    EXPECT_EQ(bad.Text("field"), "cron_expression");
    EXPECT_NE(bad.Text("detail").find("column"), std::string::npos) << bad.body;
}

TEST(Tasks, PreviewShowsWhatTheTaskWouldDo) {
    TestScheduler scheduler;
    const auto fires = [&](const std::string& recurrence) {
        const Answered shown =
            scheduler.Post("/api/v1/tasks/preview",
                           R"({"count": 3, "after": "2026-11-15T06:00:00Z", )" + recurrence + "}");
        std::string times = shown.status == 200 ? "" : shown.body;
        if (shown.status != 200) return times;
        for (const auto& fire : shown.json.at("fires").as_array()) {
            times += std::string(fire.as_string().c_str()) + " ";
        }
        return times;
    };
    EXPECT_EQ(fires(R"("interval": "6h", "fires_max": 1)"), "2026-11-15T12:00:00.000Z ");
    EXPECT_EQ(fires(R"("interval_after_end": "6h")"), "2026-11-15T06:00:00.000Z ");
    EXPECT_EQ(fires(R"("interval_after_end": "6h", "start_at": "2027-01-01T00:00:00Z")"),
              "2027-01-01T00:00:00.000Z ");
    EXPECT_NE(fires(R"("interval": "1h", "end_at": "2026-11-15T06:30:00Z")").find("end_at"),
              std::string::npos);
    // A task may be sent as it stands, with its steps.
    EXPECT_EQ(fires(R"("name": "f", "interval": "6h", "fires_max": 1, "steps": [{"name": "a"}])"),
              "2026-11-15T12:00:00.000Z ");
    EXPECT_NE(fires(R"("interval": "1h", "delay": "1s")").find("one-off"), std::string::npos);
}

TEST(Tasks, FiresAreNoMoreThanAreLeft) {
    TestScheduler scheduler;
    scheduler.Put("/api/v1/tasks/t", R"({"name": "t", "interval": "1h", "fires_max": 2})");
    EXPECT_EQ(scheduler.Get("/api/v1/tasks/t/fires").json.at("fires").as_array().size(), 2u);
    scheduler.Put("/api/v1/tasks/d", R"({"name": "d", "interval_after_end": "1h",
        "start_at": "2999-01-01T00:00:00Z"})");
    EXPECT_EQ(scheduler.Get("/api/v1/tasks/d/fires").json.at("fires").as_array().size(), 1u);
}

// A campaign ends soon. That is no reason to refuse an end that leaves a fire, or what has nothing
// to do with it.
TEST(Tasks, WhetherATaskWouldNeverFireIsJudgedFromWhereItIs) {
    TestScheduler scheduler;
    const std::string soon = FormatTime(ReadClocks().wall + 50min);
    const Answered once = scheduler.Post("/api/v1/tasks", R"({"id": "delay", "name": "d",
        "interval_after_end": "1h", "end_at": ")" + soon + R"("})");
    EXPECT_EQ(once.status, 201) << once.body;
    const Answered changed = scheduler.Patch("/api/v1/tasks/delay", R"({"priority": 7})");
    EXPECT_EQ(changed.status, 200) << changed.body;
    const Answered back = scheduler.Put("/api/v1/tasks/delay", changed.body);
    EXPECT_EQ(back.status, 200) << back.body;

    const Answered hourly =
        scheduler.Put("/api/v1/tasks/hourly", R"({"name": "h", "interval": "1h"})");
    const Time due = *ParseTime(hourly.Text("next_fire_at"));
    const Answered ended = scheduler.Patch("/api/v1/tasks/hourly",
                                           R"({"end_at": ")" + FormatTime(due + 1ms) + R"("})");
    EXPECT_EQ(ended.status, 200) << ended.body;
    const Answered never =
        scheduler.Patch("/api/v1/tasks/hourly", R"({"end_at": ")" + soon + R"("})");
    EXPECT_EQ(never.status, 400) << never.body;
    EXPECT_EQ(never.Text("field"), "end_at");
    const Answered past =
        scheduler.Post("/api/v1/tasks", R"({"name": "p", "cron": "0 0 0 1 1 ? 2025"})");
    EXPECT_EQ(past.status, 400) << past.body;
    EXPECT_EQ(past.Text("field"), "cron");
}

// One id, one task, whichever kind came first.
TEST(Tasks, AnIdIsNotGivenToAOneOffAndARecurringTask) {
    TestScheduler scheduler;
    const auto post = [&](const std::string& body) {
        return scheduler.Post("/api/v1/tasks", body);
    };
    ASSERT_EQ(post(R"({"id": "r", "name": "x", "interval": "1h"})").status, 201);
    const Answered once = post(R"({"id": "r", "name": "noop"})");
    EXPECT_EQ(once.status, 409) << once.body;
    EXPECT_EQ(once.Text("field"), "id");
    EXPECT_EQ(scheduler.Put("/api/v1/tasks/r", R"({"name": "noop"})").status, 409);

    ASSERT_EQ(post(R"({"id": "o", "name": "noop"})").status, 201);
    EXPECT_EQ(post(R"({"id": "o", "name": "x", "interval": "1h"})").status, 409);
    EXPECT_EQ(scheduler.Put("/api/v1/tasks/o", R"({"name": "x", "interval": "1h"})").status, 409);
}

TEST(Tasks, ListGoesOnWhereThePageEnded) {
    TestScheduler scheduler;
    for (const char* id : {"a", "b", "c"}) {
        scheduler.Put("/api/v1/tasks/" + std::string(id), R"({"name": "job", "interval": "1h"})");
    }
    const Answered first = scheduler.Get("/api/v1/tasks?limit=2");
    ASSERT_EQ(first.json.at("items").as_array().size(), 2u) << first.body;
    const Answered second =
        scheduler.Get("/api/v1/tasks?limit=2&cursor=" + first.Text("next_cursor"));
    ASSERT_EQ(second.json.at("items").as_array().size(), 1u);
    EXPECT_EQ(second.json.at("items").at(0).at("id").as_string(), "c");
    EXPECT_TRUE(second.json.at("next_cursor").is_null());
}

TEST(Tasks, DeletingAOneOffTaskCancelsIt) {
    TestScheduler scheduler;
    scheduler.Post("/api/v1/tasks", R"({"id": "later", "name": "n", "delay": "1h"})");
    const Answered gone = scheduler.Delete("/api/v1/tasks/later");
    EXPECT_EQ(gone.status, 200) << gone.body;
    EXPECT_EQ(gone.Text("status"), "cancelled");
    EXPECT_EQ(scheduler.Delete("/api/v1/tasks/later").status, 409);
    EXPECT_EQ(scheduler.Delete("/api/v1/tasks/never").status, 404);
}

}  // namespace
}  // namespace takt::internal
