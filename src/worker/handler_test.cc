#include "worker/handler.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

TEST(HandlerRegistryTest, AHandlerForEveryTypeTakesTheRest) {
    HandlerRegistry handlers;
    const auto ok = [](TaskContext&) { return TaskResult::Success(); };
    ASSERT_TRUE(handlers.AddFunction("a", ok));
    EXPECT_EQ(handlers.Find("b"), nullptr);
    EXPECT_FALSE(handlers.AddFunction("", ok));
    ASSERT_TRUE(handlers.AddFunction("*", ok));
    EXPECT_NE(handlers.Find("b"), nullptr);
    EXPECT_TRUE(handlers.Types().empty());
}

}  // namespace
}  // namespace takt::internal
