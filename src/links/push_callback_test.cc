// Executors that took an attempt and tell later how it goes: callbacks, their tokens, news on the
// way, and a leader that changes meanwhile.
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "links/push_link.h"
#include "links/push_test_support.h"

namespace takt::internal {
namespace {

using namespace testing_support;
using Kind = CallbackAnswer::Verdict;

// A long report: taken at once, told about later. The network repeats the callback.
TEST(PushLink, ATakenAttemptEndsByItsCallbackAndACopyIsAnsweredAlike) {
    FakeExecutor executor;
    PushStack stack;
    ASSERT_TRUE(stack.Register(executor));
    const ExecutionId id = stack.Submit();
    const Order order = executor.AwaitOrder(1);

    EXPECT_EQ(stack.Callback(order.execution, order.token, true), Kind::kAccepted);
    EXPECT_EQ(stack.Callback(order.execution, order.token, true), Kind::kAccepted);
    EXPECT_EQ(stack.Callback(order.execution, order.token, false), Kind::kStale);

    EXPECT_EQ(stack.Read(id).status, Status::kSuccess);
    EXPECT_EQ(stack.Read(id).outcome->data, R"({"rows":7})");
}

// Somebody guesses, and somebody is late.
TEST(PushLink, ForeignAndStaleCallbacksAreRefused) {
    FakeExecutor executor;
    PushStack stack;
    ASSERT_TRUE(stack.Register(executor));
    const ExecutionId id = stack.Submit(1);
    const Order first = executor.AwaitOrder(1);
    const std::string guess(32, '0');

    EXPECT_EQ(stack.Callback(first.execution, guess, true), Kind::kForeign);
    EXPECT_EQ(stack.Callback("no-such-execution", first.token, true), Kind::kNotFound);
    EXPECT_EQ(stack.Callback(first.execution, first.token, false), Kind::kAccepted);
    const Order second = executor.AwaitOrder(2);
    EXPECT_EQ(second.attempt, 2);
    EXPECT_EQ(stack.Callback(first.execution, first.token, true), Kind::kStale);

    EXPECT_NE(stack.Read(id).status, Status::kSuccess);
    EXPECT_EQ(stack.Callback(second.execution, second.token, true), Kind::kAccepted);
}

// A long report tells what it does while it does it.
TEST(PushLink, AnExecutorWritesWhileItWorks) {
    FakeExecutor executor;
    PushStack stack;
    ASSERT_TRUE(stack.Register(executor));
    const ExecutionId id = stack.Submit();
    const Order order = executor.AwaitOrder(1);

    EXPECT_EQ(
        stack.Say(order.execution, order.token,
                  R"({"lines":"page 1\npage 2","progress":{"percent":40,"message":"2 of 5"}})"),
        Kind::kAccepted);
    EXPECT_TRUE(stack.watcher.AwaitLog("page 1\npage 2\n"));
    EXPECT_EQ(stack.ProgressOf(id), 0.4);
    EXPECT_EQ(stack.Say(order.execution, std::string(32, '0'), R"({"lines":"forged"})"),
              Kind::kForeign);
    EXPECT_EQ(stack.Callback(order.execution, order.token, true), Kind::kAccepted);
    EXPECT_EQ(stack.Say(order.execution, order.token, R"({"lines":"too late"})"), Kind::kStale);
    EXPECT_FALSE(stack.watcher.log().contains("forged"));
}

// The leader goes while an executor works: the next one asks again under the same token, since it
// cannot know whether the call arrived, and takes the callback.
TEST(PushLink, ANewLeaderTakesTheCallbackOfAnAttemptOfTheOldOne) {
    FakeExecutor executor;
    const auto database = std::make_shared<MemoryDatabase>();
    std::optional<PushStack> old(std::in_place, PushLinkConfig{}, database);
    ASSERT_TRUE(old->Register(executor));
    const ExecutionId id = old->Submit();
    const Order first = executor.AwaitOrder(1);
    old.reset();

    PushStack next({}, database, "node-2");
    const Order again = executor.AwaitOrder(2);
    EXPECT_EQ(again.token, first.token);
    EXPECT_EQ(again.attempt, 1);
    EXPECT_EQ(next.Callback(first.execution, first.token, true), Kind::kAccepted);
    EXPECT_EQ(next.Read(id).status, Status::kSuccess);
    EXPECT_EQ(next.Read(id).losses, 0u);
}

// A long run, well past the time that a call may take: the next leader does not disturb it.
TEST(PushLink, ANewLeaderDoesNotSendAgainWhatWasTakenLongAgo) {
    FakeExecutor executor;
    const auto database = std::make_shared<MemoryDatabase>();
    const PushLinkConfig config{.timeout = Duration(1)};
    Order first;
    {
        PushStack old({}, database);
        ASSERT_TRUE(old.Register(executor));
        const ExecutionId id = old.Submit();
        first = executor.AwaitOrder(1);
        ASSERT_TRUE(old.watcher.AwaitEvent(EventType::kTaskStarted, id));
        // Another commit takes along that it has started.
        ASSERT_TRUE(old.SetStatus("executor-1", WorkerStatus::kOnline));
    }
    // The clock counts in milliseconds, and all this may take less than one.
    const Time taken = ReadClocks().wall;
    while (ReadClocks().wall <= taken + config.timeout) std::this_thread::yield();
    PushStack next(config, database, "node-2");
    EXPECT_EQ(next.Callback(first.execution, first.token, true), Kind::kAccepted);
    EXPECT_EQ(executor.orders(), 1u);
}

}  // namespace
}  // namespace takt::internal
