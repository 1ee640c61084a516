// Executors whose attempts lose a lock: an operator took it away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "links/push_link.h"
#include "links/push_test_support.h"

namespace takt::internal {
namespace {

using namespace testing_support;
using ::testing::HasSubstr;
using ::testing::Not;

// The handler goes on with something that is another's now: it must hear of it
// as a worker would.
TEST(PushLink, AnExecutorIsToldOfALockThatWasTakenAway) {
    FakeExecutor executor;
    PushStack stack;
    ASSERT_TRUE(stack.Register(executor));
    stack.Submit(0, Duration(60'000), {{.name = "ledger"}, {.name = "gpu"}});
    const Order order = executor.AwaitOrder(1);
    EXPECT_THAT(order.body, HasSubstr(R"("name":"ledger")"));

    stack.TakeAway("ledger");

    const auto [body, token] = executor.AwaitLoss(1);
    EXPECT_EQ(token, order.token);
    EXPECT_THAT(body, HasSubstr(R"("execution_id":")" + order.execution + "\""));
    EXPECT_THAT(body, HasSubstr(R"("attempt":1,"name":"ledger","token":)"));
    EXPECT_THAT(body, Not(HasSubstr(R"("token":0)"))) << "its own, which is void now";
    EXPECT_THAT(body, HasSubstr("an operator took it away"));
    EXPECT_EQ(executor.losses(), 1u) << "the other lock is still its own";
    EXPECT_EQ(stack.Callback(order.execution, order.token, true),
              CallbackAnswer::Verdict::kAccepted);
}

// It was restarting, or the order is still on its way: said again, and not for
// ever.
TEST(PushLink, ALossThatWasNotTakenIsToldAgain) {
    FakeExecutor executor;
    PushStack stack;
    executor.AnswerLosses({503, 404, 200});
    ASSERT_TRUE(stack.Register(executor));
    stack.Submit(0, Duration(60'000), {{.name = "ledger"}});
    const Order order = executor.AwaitOrder(1);
    stack.TakeAway("ledger");
    EXPECT_EQ(executor.AwaitLoss(3), executor.AwaitLoss(1));
    EXPECT_EQ(stack.Callback(order.execution, order.token, true),
              CallbackAnswer::Verdict::kAccepted);
}

// Calls under way are at their bound, and the order has not left: it must not
// promise what is gone.
TEST(PushLink, AnOrderThatWaitsDoesNotPromiseALostLock) {
    FakeExecutor executor;
    PushStack stack({.concurrency_max = 1, .timeout = Duration(500)});
    executor.Hang();
    ASSERT_TRUE(stack.Register(executor));
    stack.Submit();
    executor.AwaitOrder(1);
    const ExecutionId waiting =
        stack.Submit(0, Duration(60'000), {{.name = "ledger"}, {.name = "gpu"}});
    stack.TakeAway("ledger");

    const Order order = executor.AwaitOrder(2);

    EXPECT_EQ(order.execution, waiting.text().str());
    EXPECT_THAT(order.body, HasSubstr(R"("name":"gpu")"));
    EXPECT_THAT(order.body, Not(HasSubstr("ledger")));
    EXPECT_EQ(executor.losses(), 0u);
}

}  // namespace
}  // namespace takt::internal
