// Explanations of tasks, queues and workers, and what is left of a task that is deleted.
#include <gtest/gtest.h>

#include "api/test_scheduler.h"

namespace takt::internal {
namespace {

// Why does my nightly task never run, why does this queue stand still, why does my worker idle?
TEST(ExplainApi, TasksQueuesAndWorkersExplainThemselves) {
    TestScheduler scheduler;
    const std::string nightly = R"({"id": "nightly", "name": "n", "type": "t", "interval": "1h"})";
    ASSERT_EQ(scheduler.Post("/api/v1/tasks", nightly).status, 201);
    const Answered task = scheduler.Get("/api/v1/tasks/nightly/explain");
    ASSERT_EQ(task.status, 200) << task.body;
    EXPECT_EQ(task.Text("task_id"), "nightly");
    EXPECT_EQ(task.Text("code"), "task_first");
    ASSERT_EQ(scheduler.Post("/api/v1/tasks/nightly/pause").status, 200);
    EXPECT_EQ(scheduler.Get("/api/v1/tasks/nightly/explain").Text("code"), "task_paused");

    const std::string once = R"({"id": "once", "name": "o", "type": "t", "queue": "bulk"})";
    ASSERT_EQ(scheduler.Post("/api/v1/tasks", once).status, 201);
    EXPECT_EQ(scheduler.Get("/api/v1/tasks/once/explain").Text("code"), "no_worker");
    const Answered queue = scheduler.Get("/api/v1/queues/bulk/explain");
    EXPECT_EQ(queue.Text("queue"), "bulk");
    EXPECT_EQ(queue.Text("code"), "queue_unserved");
    scheduler.AttachWorker("w");
    const Answered worker = scheduler.Get("/api/v1/workers/w/explain");
    EXPECT_EQ(worker.Text("worker_id"), "w");
    EXPECT_NE(worker.Text("code"), "");
    for (const char* kind : {"tasks", "queues", "workers"}) {
        const std::string path = "/api/v1/" + std::string(kind) + "/none/explain";
        EXPECT_EQ(scheduler.Get(path).status, 404) << path;
    }
}

// Deleting a task ends what waits of it, unless somebody wants it kept.
TEST(ExplainApi, ADeletedTaskTakesItsWaitingRunsAlongUnlessTheyAreKept) {
    TestScheduler scheduler;
    for (const char* id : {"a", "b"}) {
        const std::string body =
            R"({"id": ")" + std::string(id) + R"(", "name": "n", "type": "t", "interval": "1h"})";
        ASSERT_EQ(scheduler.Post("/api/v1/tasks", body).status, 201);
    }
    const std::string of_a = scheduler.Post("/api/v1/tasks/a/trigger").Text("id");
    const std::string of_b = scheduler.Post("/api/v1/tasks/b/trigger").Text("id");
    EXPECT_EQ(scheduler.Delete("/api/v1/tasks/a?runs=some").status, 400);
    ASSERT_EQ(scheduler.Delete("/api/v1/tasks/a").status, 200);
    ASSERT_EQ(scheduler.Delete("/api/v1/tasks/b?runs=keep").status, 200);

    const Answered cancelled = scheduler.Get("/api/v1/executions/" + of_a);
    EXPECT_EQ(cancelled.Text("status"), "cancelled");
    EXPECT_EQ(cancelled.json.at("error").at("message").as_string(), "its task was deleted");
    EXPECT_EQ(scheduler.Get("/api/v1/executions/" + of_b).Text("status"), "pending");
}

}  // namespace
}  // namespace takt::internal
