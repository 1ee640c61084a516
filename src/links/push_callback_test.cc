// Executors that took an attempt and tell later how it goes: callbacks, their tokens, news on the
// way, and a leader that changes meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <thread>

#include "links/push_link.h"
#include "links/push_test_support.h"

namespace takt::internal {
namespace {

using namespace testing_support;
using Kind = CallbackAnswer::Verdict;
using testing::HasSubstr;

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
    EXPECT_EQ(
        stack.Callback(order.execution, order.token, R"({"status":"success","result":{"rows":8}})"),
        Kind::kStale);

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

// A failed attempt is reported twice, with two explanations: the first is kept, and the second is
// told so.
TEST(PushLink, ASecondExplanationOfAFailureIsRefused) {
    FakeExecutor executor;
    PushStack stack;
    ASSERT_TRUE(stack.Register(executor));
    const ExecutionId id = stack.Submit();
    const Order order = executor.AwaitOrder(1);

    EXPECT_EQ(stack.Callback(order.execution, order.token, false), Kind::kAccepted);
    EXPECT_EQ(stack.Callback(order.execution, order.token, false), Kind::kAccepted);
    EXPECT_EQ(
        stack.Callback(order.execution, order.token, R"({"status":"failed","error":"no disk"})"),
        Kind::kStale);

    EXPECT_EQ(stack.Read(id).outcome->message, "no rows");
}

// An operator concludes what an executor works on. What that says later came too late, and it did not
// say anything before.
TEST(PushLink, AReportAfterAConclusionIsToldThatItCameTooLate) {
    FakeExecutor executor;
    PushStack stack;
    ASSERT_TRUE(stack.Register(executor));
    const ExecutionId id = stack.Submit();
    const Order order = executor.AwaitOrder(1);
    stack.Conclude(id, Status::kSuccess);

    EXPECT_EQ(stack.Callback(order.execution, order.token, true), Kind::kStale);
    EXPECT_THAT(stack.said(), HasSubstr("too late"));
}

class PushLinkReminder : public testing::TestWithParam<int> {};

// A long run, well past the time that a call may take: the next leader says where its callback is
// to go by now. That the executor refuses what it has already, in whatever words, changes nothing.
TEST_P(PushLinkReminder, ANewLeaderRemindsOfWhatWasTakenLongAgo) {
    FakeExecutor executor;
    const auto database = std::make_shared<MemoryDatabase>();
    const PushLinkConfig config{.address = "http://second:8080", .timeout = Duration(500)};
    Order first;
    ExecutionId id;
    {
        PushStack old({}, database);
        ASSERT_TRUE(old.Register(executor));
        id = old.Submit();
        first = executor.AwaitOrder(1);
        ASSERT_TRUE(old.watcher.AwaitEvent(EventType::kTaskStarted, id));
        // Another commit takes along that it has started.
        ASSERT_TRUE(old.SetStatus("executor-1", WorkerStatus::kOnline));
    }
    executor.AnswerWith(GetParam(), R"({"status":"runs already"})");
    const Time taken = ReadClocks().wall;
    while (ReadClocks().wall <= taken + config.timeout) std::this_thread::yield();

    PushStack next(config, database, "node-2");

    const Order again = executor.AwaitOrder(2);
    EXPECT_EQ(again.token, first.token);
    EXPECT_THAT(again.body, HasSubstr("http://second:8080/api/v1/executions/"));
    EXPECT_EQ(next.Callback(first.execution, first.token, true), Kind::kAccepted);
    EXPECT_EQ(next.Read(id).status, Status::kSuccess);
    EXPECT_EQ(next.Read(id).attempt, 1u);
}
INSTANTIATE_TEST_SUITE_P(Answer, PushLinkReminder, testing::Values(200, 409));

class PushLinkResent : public testing::TestWithParam<Duration> {};

// The new leader cannot call at the moment when it sends an order again that was taken, long ago or
// just now: it tries again. Given to another instance, the work would be done twice.
TEST_P(PushLinkResent, AnOrderThatDidNotArriveAgainStaysWhereItIs) {
    FakeExecutor executor;
    const auto database = std::make_shared<MemoryDatabase>();
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
    const Time taken = ReadClocks().wall;
    while (ReadClocks().wall <= taken + Duration(300)) std::this_thread::yield();
    EngineConfig engine;
    engine.worker_lease = Duration(1'500);

    PushStack next({.timeout = GetParam()}, database, "node-2", engine, AllowLoopback(), 1);

    EXPECT_EQ(executor.AwaitOrder(2).attempt, 1);
    EXPECT_EQ(next.shortages, 0);
    EXPECT_EQ(next.Callback(first.execution, first.token, true), Kind::kAccepted);
}
INSTANTIATE_TEST_SUITE_P(Age, PushLinkResent, testing::Values(Duration(300), Duration(30'000)));

// Its time was over before there was a leader again, and it had ended in time: it says so when it is
// asked again, and that counts.
TEST(PushLink, WhatEndedInTimeWhileNobodyLedIsNotTimedOut) {
    FakeExecutor executor;
    const auto database = std::make_shared<MemoryDatabase>();
    const Duration timeout(300);
    ExecutionId id;
    {
        PushStack old({}, database);
        ASSERT_TRUE(old.Register(executor));
        id = old.Submit(0, timeout);
        executor.AwaitOrder(1);
        ASSERT_TRUE(old.watcher.AwaitEvent(EventType::kTaskStarted, id));
        // Another commit takes along that it has started.
        ASSERT_TRUE(old.SetStatus("executor-1", WorkerStatus::kOnline));
    }
    const auto pass = [](Duration time) {
        const Time begun = ReadClocks().wall;
        while (ReadClocks().wall <= begun + time) std::this_thread::yield();
    };
    executor.Answer([&](const Order&, HttpReply reply) {
        pass(Duration(30));
        reply(HttpResponse::Json(200, R"({"status":"success"})"));
    });
    pass(timeout);

    PushStack next({}, database, "node-2");

    ASSERT_TRUE(next.watcher.AwaitEvent(EventType::kTaskCompleted, id));
    EXPECT_EQ(next.Read(id).attempt, 1u);
}

// The executor died with its leader. Only some of the orders are tried before the circuit opens; the
// others have their time all the same.
TEST(PushLink, OrdersThatCannotBeSentAgainTimeOut) {
    const auto database = std::make_shared<MemoryDatabase>();
    std::vector<ExecutionId> ids;
    {
        FakeExecutor executor;
        executor.Hang();
        PushStack old({.concurrency_max = 1}, database);
        ASSERT_TRUE(old.Register(executor, "executor-1", 20));
        for (int i = 0; i < 12; ++i) ids.push_back(old.Submit(0, Duration(1'000)));
        executor.AwaitOrder(1);
    }
    EngineConfig engine;
    engine.timeout_grace = Duration(50);

    PushStack next({.concurrency_max = 1}, database, "node-2", engine);

    for (const ExecutionId& id : ids) {
        ASSERT_TRUE(next.watcher.AwaitEvent(EventType::kTaskFailed, id));
        EXPECT_EQ(next.Read(id).outcome->reason, Reason::kTimeout);
    }
}

// The leader that gave the order dies: the executor has been told where the others are, too.
TEST(PushLink, AnOrderNamesEveryScheduler) {
    FakeExecutor executor;
    const auto database = std::make_shared<MemoryDatabase>();
    MemoryStore other(database);
    std::promise<Result<void>> announced;
    other.Announce({.node = NodeId(Text("node-2")), .address = Text("http://second:8080")},
                   Duration(60'000), [&](Result<void> done) { announced.set_value(done); });
    ASSERT_TRUE(announced.get_future().get());
    PushStack stack({}, database);
    ASSERT_TRUE(stack.Register(executor));

    stack.Submit();

    const Order order = executor.AwaitOrder(1);
    const std::string path = "/api/v1/executions/" + order.execution + "/callback";
    EXPECT_THAT(order.body, HasSubstr(R"("callback_url":"http://scheduler:8080)" + path + '"'));
    EXPECT_THAT(order.body, HasSubstr(R"("callback_urls":["http://scheduler:8080)" + path +
                                      R"(","http://second:8080)" + path + R"("])"));
}

// Executors cannot reach the schedulers themselves, but what balances between them.
TEST(PushLink, AnOrderNamesOnlyTheBalancerIfThereIsOne) {
    FakeExecutor executor;
    PushStack stack({.callback_base = "https://takt.example.com"});
    ASSERT_TRUE(stack.Register(executor));

    stack.Submit();

    const Order order = executor.AwaitOrder(1);
    const std::string url =
        "\"https://takt.example.com/api/v1/executions/" + order.execution + "/callback\"";
    EXPECT_THAT(order.body, HasSubstr("\"callback_url\":" + url));
    EXPECT_THAT(order.body, HasSubstr("\"callback_urls\":[" + url + "]"));
}

}  // namespace
}  // namespace takt::internal
