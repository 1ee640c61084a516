#include "api/executor_json.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

// Names in any script get a task id all the same, each its own.
TEST(ExecutorTaskId, IsReadableWhereItCanBeAndUniqueWhereItCannot) {
    EXPECT_EQ(ExecutorTaskId("reports", "daily").view(), "reports.daily");
    const TaskId chinese = ExecutorTaskId("数据", "日报");
    EXPECT_TRUE(IsValidId(chinese.view()));
    EXPECT_EQ(chinese, ExecutorTaskId("数据", "日报"));
    EXPECT_NE(chinese, ExecutorTaskId("数据日", "报"));
    EXPECT_TRUE(IsValidId(ExecutorTaskId(std::string(100, 'a'), "b").view()));
}

// Steps have labels and names of tasks of their own: with them a token of the role executor would run
// commands on any worker, or anybody's task.
TEST(Registration, AWorkflowIsRefused) {
    const auto policy = ServicePolicy::Make({"10.0.0.1"}, false);
    const TaskLimits limits;
    TextPool texts;
    const auto field_of = [&](const std::string& more) {
        const std::string text =
            R"({"name": "svc", "instance_id": "i", "base_url": "http://10.0.0.1/",
                "tasks": [{"task_name": "a", "cron": "* * * * *", "labels": {"zone": "a"})" +
            more + "}]}";
        const auto read = ReadRegistration(
            JsonView(text), {.policy = *policy, .task_limits = limits, .texts = texts});
        return read ? std::string() : read.error().field;
    };
    EXPECT_EQ(field_of(""), "");
    EXPECT_EQ(field_of(R"(, "steps": [{"name": "s", "type": "shell", "labels": {"zone": "a"}}])"),
              "tasks[0].steps");
    EXPECT_EQ(field_of(R"(, "steps": [{"name": "s", "task": "victim"}])"), "tasks[0].steps");
    // Limits and locks that others' tasks share are not for whoever registers to lift or to hold.
    EXPECT_EQ(field_of(R"(, "concurrency_key": "pay", "concurrency_max": 1000)"),
              "tasks[0].concurrency_key");
    EXPECT_EQ(field_of(R"(, "locks": ["ledger"])"), "tasks[0].locks");
    EXPECT_EQ(field_of(R"(, "shards": 3)"), "tasks[0].shards");
    EXPECT_EQ(field_of(R"(, "each_worker": true)"), "tasks[0].each_worker");
}

}  // namespace
}  // namespace takt::internal
