// Executions that are changed by filter, many at a time.
#include "api/test_scheduler.h"

namespace takt::internal {
namespace {

// After a bad deployment hundreds of executions are dead; they are run again in one go.
TEST(Sweep, FailedOnesAreRetriedByFilter) {
    TestScheduler scheduler;
    for (const char* id : {"x1", "x2", "x3"}) {
        const std::string name(id);
        scheduler.Post("/api/v1/tasks", R"({"id": ")" + name + R"(", "name": "n", "delay": "1h"})");
        const Answered ended = scheduler.Put("/api/v1/executions/" + name + "/status",
                                             R"({"status": "failed", "message": "bad build"})");
        ASSERT_EQ(ended.status, 200) << ended.body;
        EXPECT_EQ(ended.Text("status"), "failed");
    }
    const Answered retried =
        scheduler.Post("/api/v1/executions/retry", R"({"status": "failed", "limit": 2})");
    ASSERT_EQ(retried.status, 200) << retried.body;
    EXPECT_EQ(retried.json.at("changed").as_int64(), 2);
    EXPECT_TRUE(retried.json.at("more").as_bool());
    const Answered rest = scheduler.Post("/api/v1/executions/retry", R"({"type": "n"})");
    EXPECT_EQ(rest.json.at("changed").as_int64(), 1);
    const Answered cancelled = scheduler.Post("/api/v1/executions/cancel", R"({"type": "n"})");
    EXPECT_EQ(cancelled.json.at("changed").as_int64(), 3);
    EXPECT_EQ(scheduler.Post("/api/v1/executions/retry", R"({"stat": "failed"})").status, 400);
}

// A script asks for what cannot be; a hundred refusals would not tell it why.
TEST(Sweep, AFilterThatMatchesOnlyWhatCannotBeChangedIsRefused) {
    TestScheduler scheduler;
    const Answered retried = scheduler.Post("/api/v1/executions/retry", R"({"status": "success"})");
    EXPECT_EQ(retried.status, 400);
    EXPECT_EQ(retried.Text("field"), "status");
    const Answered cancelled =
        scheduler.Post("/api/v1/executions/cancel", R"({"status": "running,failed"})");
    EXPECT_EQ(cancelled.status, 400);
    EXPECT_EQ(scheduler.Post("/api/v1/executions/retry", R"({"status": "cancelled"})").status, 200);
}

// A script whose variables were all empty would have ended everything that there is.
TEST(Sweep, AFilterThatSaysNothingIsRefusedAndChangesNothing) {
    TestScheduler scheduler;
    scheduler.Post("/api/v1/tasks", R"({"id": "precious", "name": "n", "delay": "1h"})");
    for (const std::string action : {"cancel", "retry"}) {
        for (const char* body : {"{}", R"({"limit": 2})", R"({"cursor": "s0000000000000001"})"}) {
            const Answered refused = scheduler.Post("/api/v1/executions/" + action, body);
            EXPECT_EQ(refused.status, 400) << action << body;
            EXPECT_TRUE(refused.Text("detail").starts_with("give filters")) << refused.body;
        }
    }
    EXPECT_EQ(scheduler.Get("/api/v1/executions/precious").Text("status"), "pending");
}

// They fail again at once. Who goes through all of them must still come to the end, and run none of
// them twice.
TEST(Sweep, RetryingByFilterGoesOnWithOlderOnes) {
    TestScheduler scheduler;
    const auto fail = [&](const std::string& id) {
        return scheduler.Put("/api/v1/executions/" + id + "/status", R"({"status": "failed"})")
            .status;
    };
    for (const std::string id : {"x1", "x2", "x3"}) {
        scheduler.Post("/api/v1/tasks", R"({"id": ")" + id + R"(", "name": "n", "delay": "1h"})");
        ASSERT_EQ(fail(id), 200);
    }
    std::vector<std::string> retried;
    std::string cursor;
    for (int call = 0; call < 10; ++call) {
        const Answered answer = scheduler.Post("/api/v1/executions/retry",
                                               R"({"status": "failed", "limit": 1)" + cursor + "}");
        ASSERT_EQ(answer.status, 200) << answer.body;
        for (const auto& item : answer.json.at("items").as_array()) {
            retried.emplace_back(item.at("id").as_string());
            ASSERT_EQ(fail(retried.back()), 200);
        }
        EXPECT_EQ(answer.json.at("more").as_bool(), answer.json.at("next_cursor").is_string());
        if (!answer.json.at("more").as_bool()) break;
        cursor = R"(, "cursor": ")" + answer.Text("next_cursor") + "\"";
    }
    EXPECT_EQ(retried, (std::vector<std::string>{"x3", "x2", "x1"}));
    const Answered bad = scheduler.Post("/api/v1/executions/retry", R"({"cursor": 7})");
    EXPECT_EQ(bad.status, 400);
    EXPECT_EQ(bad.Text("field"), "cursor");
}

}  // namespace
}  // namespace takt::internal
