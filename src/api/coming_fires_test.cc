#include "api/test_scheduler.h"

namespace takt::internal {
namespace {

std::vector<std::string> ComingTasks(TestScheduler& scheduler, const std::string& query = {}) {
    const Answered answer = scheduler.Get("/api/v1/scheduler/fires" + query);
    EXPECT_EQ(answer.status, 200) << answer.body;
    std::vector<std::string> tasks;
    for (const auto& item : answer.json.at("items").as_array()) {
        tasks.emplace_back(item.at("task_id").as_string());
    }
    return tasks;
}

// The overview of a scheduler with thousands of tasks: most of them fire at night, and the next
// three are what the person on duty wants to see, wherever their names stand in the alphabet.
TEST(ComingFires, TheSoonestComeFirstAndPausedOnesNot) {
    TestScheduler scheduler;
    const auto add = [&](const std::string& id, const std::string& interval) {
        const Answered made = scheduler.Post(
            "/api/v1/tasks",
            R"({"id": ")" + id + R"(", "name": "n", "interval": ")" + interval + R"("})");
        ASSERT_EQ(made.status, 201) << made.body;
    };
    for (int i = 0; i < 50; ++i) add("night-" + std::to_string(i), "300h");
    add("z-soon", "1h");
    add("a-later", "3h");
    add("m-next", "2h");
    add("paused", "30m");
    ASSERT_EQ(scheduler.Post("/api/v1/tasks/paused/pause").status, 200);

    EXPECT_EQ(ComingTasks(scheduler, "?limit=3"),
              (std::vector<std::string>{"z-soon", "m-next", "a-later"}));
    EXPECT_EQ(ComingTasks(scheduler).size(), 10u);
    EXPECT_EQ(ComingTasks(scheduler, "?limit=100").size(), 53u);
    scheduler.Post("/api/v1/tasks/paused/resume");
    EXPECT_EQ(ComingTasks(scheduler, "?limit=1"), (std::vector<std::string>{"paused"}));
    scheduler.Delete("/api/v1/tasks/paused");
    EXPECT_EQ(ComingTasks(scheduler, "?limit=1"), (std::vector<std::string>{"z-soon"}));
}

TEST(ComingFires, EachSaysWhenAndByWhichSchedule) {
    TestScheduler scheduler;
    scheduler.Post("/api/v1/tasks",
                   R"({"id": "c", "name": "nightly", "type": "report", "queue": "slow",
                       "cron_expression": "0 2 * * *", "timezone": "Asia/Shanghai"})");
    const Answered answer = scheduler.Get("/api/v1/scheduler/fires");
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_TRUE(answer.json.at("next_cursor").is_null());
    const auto& item = answer.json.at("items").at(0);
    EXPECT_EQ(item.at("at"), scheduler.Get("/api/v1/tasks/c").json.at("next_fire_at"));
    EXPECT_EQ(item.at("task_name").as_string(), "nightly");
    EXPECT_EQ(item.at("type").as_string(), "report");
    EXPECT_EQ(item.at("queue").as_string(), "slow");
    EXPECT_EQ(item.at("cron_expression").as_string(), "0 2 * * *");
    EXPECT_EQ(item.at("timezone").as_string(), "Asia/Shanghai");
}

TEST(ComingFires, ACountThatIsNoneIsRefused) {
    TestScheduler scheduler;
    EXPECT_TRUE(ComingTasks(scheduler).empty());
    for (const std::string limit : {"0", "101", "-1", "many"}) {
        const Answered refused = scheduler.Get("/api/v1/scheduler/fires?limit=" + limit);
        EXPECT_EQ(refused.status, 400) << limit;
        EXPECT_EQ(refused.Text("field"), "limit");
    }
}

}  // namespace
}  // namespace takt::internal
