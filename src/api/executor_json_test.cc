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

}  // namespace
}  // namespace takt::internal
