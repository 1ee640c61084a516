#include "worker/executor.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

TEST(ExecutorRegistryTest, AnExecutorForEveryTypeTakesTheRest) {
    ExecutorRegistry executors;
    const auto ok = [](TaskContext&) { return TaskResult::Success(); };
    ASSERT_TRUE(executors.AddFunction("a", ok));
    EXPECT_EQ(executors.Find("b"), nullptr);
    EXPECT_FALSE(executors.AddFunction("", ok));
    ASSERT_TRUE(executors.AddFunction("*", ok));
    EXPECT_NE(executors.Find("b"), nullptr);
    EXPECT_TRUE(executors.Types().empty());
}

}  // namespace
}  // namespace takt::internal
