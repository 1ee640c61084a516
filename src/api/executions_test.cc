#include "api/test_scheduler.h"

namespace takt::internal {
namespace {

// A job that ran wild is stopped by hand, and run again when its cause is gone.
TEST(Executions, CancelledExecutionCanBeRetried) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w", true);
    scheduler.Post("/api/v1/tasks", R"({"id": "job", "name": "job"})");
    scheduler.sink().Await(EventType::kTaskStarted, "job");

    const Answered cancelled =
        scheduler.Post("/api/v1/executions/job/cancel", R"({"reason": "runs wild"})");
    ASSERT_EQ(cancelled.status, 200) << cancelled.body;
    EXPECT_EQ(cancelled.Text("status"), "cancelled");
    EXPECT_EQ(cancelled.json.at("error").at("code").as_string(), "cancelled");
    EXPECT_EQ(cancelled.json.at("error").at("message").as_string(), "runs wild");
    EXPECT_EQ(scheduler.Post("/api/v1/executions/job/cancel").status, 409);

    EXPECT_EQ(scheduler.Post("/api/v1/executions/job/retry").status, 200);
    EXPECT_EQ(scheduler.Post("/api/v1/executions/job/retry").status, 409) << "not finished";
    EXPECT_EQ(scheduler.Post("/api/v1/executions/none/retry").status, 404);
}

TEST(Executions, StatusMayBeGivenInOtherSpellings) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w");
    scheduler.Post("/api/v1/tasks", R"({"id": "a", "name": "a"})");
    scheduler.sink().Await(EventType::kTaskCompleted, "a");
    for (const char* status : {"success", "completed", "succeeded", "failed,completed"}) {
        const Answered list = scheduler.Get("/api/v1/executions?status=" + std::string(status));
        ASSERT_EQ(list.status, 200) << list.body;
        EXPECT_EQ(list.json.at("items").as_array().size(), 1u) << status;
    }
    const Answered bad = scheduler.Get("/api/v1/executions?status=done");
    EXPECT_EQ(bad.status, 400);
    EXPECT_EQ(bad.Text("field"), "status");
}

TEST(Executions, PagesOfAListMeetWithoutGapOrOverlap) {
    TestScheduler scheduler;
    for (int i = 0; i < 5; ++i) {
        scheduler.Post("/api/v1/tasks",
                       R"({"id": "e)" + std::to_string(i) + R"(", "name": "n", "delay": "1h"})");
    }
    std::vector<std::string> seen;
    std::string cursor;
    for (int page = 0; page < 10; ++page) {
        const Answered list = scheduler.Get("/api/v1/executions?limit=2" + cursor);
        ASSERT_EQ(list.status, 200) << list.body;
        for (const auto& item : list.json.at("items").as_array()) {
            seen.emplace_back(item.at("id").as_string());
        }
        if (list.json.at("next_cursor").is_null()) break;
        cursor = "&cursor=" + list.Text("next_cursor");
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"e4", "e3", "e2", "e1", "e0"}));
}

// What people and programs get wrong in an address.
TEST(Executions, BadQueriesAndIdsAreRefusedByName) {
    TestScheduler scheduler;
    const struct {
        const char* target;
        int status;
        const char* field;
    } cases[] = {
        {"/api/v1/executions?limit=0", 400, "limit"},
        {"/api/v1/executions?limit=1000000000", 400, "limit"},
        {"/api/v1/executions?limit=-1", 400, "limit"},
        {"/api/v1/executions?limit=ten", 400, "limit"},
        {"/api/v1/executions?limit=1&limit=2", 400, "limit"},
        {"/api/v1/executions?cursor=zzz", 400, "cursor"},
        {"/api/v1/executions?from=yesterday", 400, "from"},
        {"/api/v1/executions?taskid=1", 400, "taskid"},
        {"/api/v1/executions?worker_id=..%2f", 400, "worker_id"},
        {"/api/v1/executions/..%2fetc", 400, "(absent)"},  // The HTTP layer knows that one.
        {"/api/v1/executions/a%2fb", 400, "id"},
        {"/api/v1/executions/a%20b", 400, "id"},
        {"/api/v1/executions/none", 404, "id"},
        {"/api/v1/tasks/none", 404, "id"},
        {"/api/v1/nothing", 404, "(absent)"},
        {"/api/v1/tasks/x/fires?count=1001", 400, "count"},
    };
    for (const auto& bad : cases) {
        const Answered answer = scheduler.Get(bad.target);
        EXPECT_EQ(answer.status, bad.status) << bad.target << answer.body;
        EXPECT_EQ(answer.Text("field"), bad.field) << bad.target << answer.body;
    }
    EXPECT_EQ(scheduler.Get("/api/v1/executions/" + std::string(4096, 'a')).status, 400);
    const Answered wrong = scheduler.Delete("/api/v1/executions");
    EXPECT_EQ(wrong.status, 405);
    EXPECT_EQ(wrong.Header("Allow"), "GET");
}

// After a bad deployment hundreds of executions are dead; they are run again in one go.
TEST(Executions, FailedOnesAreRetriedByFilter) {
    TestScheduler scheduler;
    for (const char* id : {"x1", "x2", "x3"}) {
        const std::string name(id);
        scheduler.Post("/api/v1/tasks", R"({"id": ")" + name + R"(", "name": "n", "delay": "1h"})");
        const Answered ended = scheduler.Put("/api/v1/executions/" + name + "/status",
                                             R"({"status": "failed", "message": "bad build"})");
        ASSERT_EQ(ended.status, 200) << ended.body;
        EXPECT_EQ(ended.Text("status"), "failed");
    }
    const Answered retried = scheduler.Post("/api/v1/executions/retry", R"({"limit": 2})");
    ASSERT_EQ(retried.status, 200) << retried.body;
    EXPECT_EQ(retried.json.at("changed").as_int64(), 2);
    EXPECT_TRUE(retried.json.at("more").as_bool());
    const Answered rest = scheduler.Post("/api/v1/executions/retry", R"({"type": "n"})");
    EXPECT_EQ(rest.json.at("changed").as_int64(), 1);
    const Answered cancelled = scheduler.Post("/api/v1/executions/cancel", R"({"type": "n"})");
    EXPECT_EQ(cancelled.json.at("changed").as_int64(), 3);
    EXPECT_EQ(scheduler.Post("/api/v1/executions/retry", R"({"stat": "failed"})").status, 400);
}

TEST(Executions, ExplainSaysWhyNothingHappens) {
    TestScheduler scheduler;
    scheduler.Post("/api/v1/tasks", R"({"id": "lonely", "name": "n"})");
    const Answered why = scheduler.Get("/api/v1/executions/lonely/explain");
    ASSERT_EQ(why.status, 200) << why.body;
    EXPECT_EQ(why.Text("code"), "no_worker") << why.body;
    scheduler.Post("/api/v1/executions/lonely/cancel", R"({"reason": "enough"})");
    const Answered ended = scheduler.Get("/api/v1/executions/lonely/explain");
    EXPECT_EQ(ended.Text("code"), "cancelled");
    EXPECT_NE(ended.Text("explanation").find("enough"), std::string::npos);
    EXPECT_EQ(scheduler.Get("/api/v1/executions/none/explain").status, 404);
}

TEST(Executions, LogShowsWhatTheWorkerWrote) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w", true);
    scheduler.sink().on_assign = [&](const Assign& assign) {
        scheduler.node().Tell(LogLines{
            .session = assign.session,
            .attempt = {assign.execution.id, assign.execution.attempt, assign.execution.token},
            .lines = Text("first\nsecond\n")});
        scheduler.node().Tell(Report{
            .session = assign.session,
            .attempt = {assign.execution.id, assign.execution.attempt, assign.execution.token},
            .success = true});
    };
    scheduler.Post("/api/v1/tasks", R"({"id": "talks", "name": "n"})");
    scheduler.sink().Await(EventType::kTaskCompleted, "talks");
    const Answered log = scheduler.Get("/api/v1/executions/talks/log");
    ASSERT_EQ(log.json.at("items").as_array().size(), 1u) << log.body;
    EXPECT_EQ(log.json.at("items").at(0).at("lines").as_string(), "first\nsecond\n");
    EXPECT_EQ(scheduler.Get("/api/v1/executions/talks/log?format=text").body, "first\nsecond\n");
    EXPECT_EQ(scheduler.Get("/api/v1/executions/talks/log?format=xml").status, 400);
}

}  // namespace
}  // namespace takt::internal
