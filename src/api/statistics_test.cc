#include "statistics/statistics.h"

#include "api/test_scheduler.h"

namespace takt::internal {
namespace {

// A day's work is looked at from every side.
TEST(StatisticsApi, WhatRanIsCountedByDayHourTaskTypeAndWorker) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w-1");
    for (int i = 0; i < 3; ++i) {
        const Answered made = scheduler.Post(
            "/api/v1/tasks", R"j({"name": "=SUM(A1)", "type": "report", "parameters": {}
    })j");
        ASSERT_EQ(made.status, 201) << made.body;
        scheduler.sink().Await(EventType::kTaskCompleted, made.Text("id"));
    }
    for (const std::string by : {"day", "hour", "task", "type", "worker"}) {
        const Answered answer = scheduler.Get("/api/v1/statistics?by=" + by);
        ASSERT_EQ(answer.status, 200) << answer.body;
        const auto& items = answer.json.at("items").as_array();
        ASSERT_EQ(items.size(), 1u) << by;
        EXPECT_EQ(items[0].at("success").to_number<int>(), 3) << answer.body;
        EXPECT_EQ(items[0].at("total").to_number<int>(), 3);
        EXPECT_EQ(items[0].at("success_rate").to_number<double>(), 1);
        EXPECT_TRUE(items[0].at("duration").at("p99_ms").is_number());
        EXPECT_TRUE(items[0].at("wait").at("p95_ms").is_number());
    }
    const Answered workers = scheduler.Get("/api/v1/statistics?by=worker");
    EXPECT_EQ(workers.json.at("items").at(0).at("key").as_string(), "w-1");
    const Answered tasks = scheduler.Get("/api/v1/statistics?by=task&type=report");
    EXPECT_EQ(tasks.json.at("items").at(0).at("name").as_string(), "=SUM(A1)");
    const Answered csv = scheduler.Get("/api/v1/statistics?by=task&format=csv");
    EXPECT_EQ(csv.Header("Content-Type"), "text/csv; charset=utf-8");
    EXPECT_NE(csv.body.find("\r\nonce:=SUM(A1),\"'=SUM(A1)\",3,3,"), std::string::npos) << csv.body;
    const Answered past =
        scheduler.Get("/api/v1/statistics?from=2024-01-01T00:00:00Z&to=2024-02-01T00:00:00Z");
    EXPECT_TRUE(past.json.at("items").as_array().empty());
}

TEST(StatisticsApi, RefusesWhatItCannotAnswer) {
    TestScheduler scheduler;
    const auto field = [&](std::string query) {
        const Answered answer = scheduler.Get("/api/v1/statistics?" + query);
        EXPECT_EQ(answer.status, 400) << answer.body;
        return answer.Text("field");
    };
    EXPECT_EQ(field("by=mood"), "by");
    EXPECT_EQ(field("from=yesterday"), "from");
    EXPECT_EQ(field("by=hour&task_id=x"), "task_id");
    EXPECT_EQ(field("format=pdf"), "format");
    EXPECT_EQ(field("by=hour&from=2026-01-01T00:00:00Z&to=2026-03-01T00:00:00Z"), "from");
    EXPECT_EQ(field("from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z"), "to");
    EXPECT_EQ(scheduler.Get("/api/v1/statistics/series?minutes=0").status, 400);
}

// The overview's charts begin with the last hour.
TEST(StatisticsApi, TheSeriesHasAPointForEachStep) {
    TestScheduler scheduler({.statistics = {.step = 10ms}});
    scheduler.AttachWorker("w-1");
    ASSERT_EQ(scheduler.Post("/api/v1/tasks", R"({"name": "n"})").status, 201);
    std::int64_t submitted = 0;
    for (int i = 0; i < 2000 && submitted == 0; ++i) {
        const Answered series = scheduler.Get("/api/v1/statistics/series?minutes=5");
        ASSERT_EQ(series.status, 200) << series.body;
        EXPECT_EQ(series.Text("step"), "10ms");
        for (const auto& point : series.json.at("items").as_array()) {
            submitted += point.at("submitted").to_number<std::int64_t>();
        }
    }
    EXPECT_EQ(submitted, 1);
}

// The page of a queue shows how it filled, also before the page was opened.
TEST(StatisticsApi, AQueueHasItsHistory) {
    TestScheduler scheduler({.statistics = {.step = 10ms, .queue_step = 10ms}});
    ASSERT_EQ(scheduler.Post("/api/v1/tasks", R"({"name": "n", "queue": "mail"})").status, 201);
    const auto await = [&](std::string_view field, std::int64_t least) {
        Answered history;
        for (int i = 0; i < 2000; ++i) {
            history = scheduler.Get("/api/v1/queues/mail/history?minutes=5");
            if (history.status != 200) break;
            for (const auto& point : history.json.at("items").as_array()) {
                if (point.at(field).to_number<std::int64_t>() >= least) return history;
            }
        }
        ADD_FAILURE() << field << " was never " << least << ": " << history.body;
        return history;
    };
    await("waiting", 1);
    await("oldest_wait_ms", 20);
    scheduler.AttachWorker("w-1");
    const Answered history = await("finished", 1);
    EXPECT_EQ(history.Text("step"), "10ms");
    EXPECT_TRUE(history.json.at("kept").as_bool());
    EXPECT_EQ(scheduler.Get("/api/v1/queues/mial/history").status, 404);
    EXPECT_EQ(scheduler.Get("/api/v1/queues/mail/history?minutes=361").Text("field"), "minutes");
    EXPECT_EQ(scheduler.Get("/api/v1/queues/%20/history").Text("field"), "name");
}

}  // namespace
}  // namespace takt::internal
