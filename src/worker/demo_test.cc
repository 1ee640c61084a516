#include "worker/demo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/attempt_fixture.h"

namespace takt::internal {
namespace {

using testing::ElementsAre;
using namespace testing_support;

TEST(DemoTest, HandlersDoWhatTheirNamesSay) {
    HandlerRegistry handlers;
    ASSERT_TRUE(AddDemoHandlers(handlers));
    EXPECT_FALSE(AddDemoHandlers(handlers));
    EXPECT_THAT(handlers.Types(), ElementsAre("echo", "fail", "log", "noop", "sleep"));
    EXPECT_EQ(Attempt("[1]").Run(*handlers.Find("echo")).data, "[1]");
    EXPECT_TRUE(Attempt().Run(*handlers.Find("noop")).success());
    EXPECT_TRUE(Attempt(R"({"ms": 1})").Run(*handlers.Find("sleep")).success());
    EXPECT_TRUE(Attempt(R"({"ms": -1})").Run(*handlers.Find("sleep")).rejected);
    EXPECT_TRUE(Attempt(R"({"seconds": 3})").Run(*handlers.Find("sleep")).rejected);
    Attempt failing(R"({"times": 2})");
    failing.task.failures = 1;
    EXPECT_FALSE(failing.Run(*handlers.Find("fail")).success());
    failing.task.failures = 2;
    EXPECT_TRUE(failing.Run(*handlers.Find("fail")).success());
    Attempt logging(R"({"lines": 2})");
    logging.Run(*handlers.Find("log"));
    EXPECT_THAT(logging.lines, ElementsAre("line 1 of 2", "line 2 of 2"));
    EXPECT_EQ(logging.progress, 1.0);
    Attempt sleeping(R"({"ms": 100000})");
    sleeping.stop.request_stop();
    EXPECT_FALSE(sleeping.Run(*handlers.Find("sleep")).success());
}

}  // namespace
}  // namespace takt::internal
