// Calls to executors: what their answers mean, and how calls are bounded, cut off and held back.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "links/push_link.h"
#include "links/push_test_support.h"

namespace takt::internal {
namespace {

using namespace testing_support;
using testing::AllOf;
using testing::HasSubstr;

// An executor that does its work while the call lasts.
TEST(PushLink, AnAnswerWithAFinalStatusEndsTheAttempt) {
    FakeExecutor executor;
    executor.AnswerWith(200, R"({"status":"completed","result":{"rows":3}})");
    PushStack stack;
    ASSERT_TRUE(stack.Register(executor));

    const ExecutionId id = stack.Submit();

    ASSERT_TRUE(stack.watcher.AwaitEvent(EventType::kTaskCompleted, id));
    const Execution row = stack.Read(id);
    EXPECT_EQ(row.outcome->data, R"({"rows":3})");
    const Order order = executor.AwaitOrder(1);
    EXPECT_EQ(order.token, order.header_token);
    EXPECT_THAT(order.body, HasSubstr(R"("parameters":{"day":"monday"})"));
    EXPECT_THAT(order.body, HasSubstr("http://scheduler:8080/api/v1/executions/" + order.execution +
                                      "/callback"));
}

// The work is there and fails: its own words are kept.
TEST(PushLink, AnAnswerThatSaysFailedFailsTheAttemptWithItsMessage) {
    FakeExecutor executor;
    executor.AnswerWith(200, R"({"status":"failed","error":{"code":7,"message":"disk full"}})");
    PushStack stack;
    ASSERT_TRUE(stack.Register(executor));

    const ExecutionId id = stack.Submit();

    ASSERT_TRUE(stack.watcher.AwaitEvent(EventType::kTaskFailed, id));
    EXPECT_EQ(stack.Read(id).outcome->message, "disk full");
    EXPECT_EQ(stack.Read(id).outcome->code, 7);
}

// An executor that answers when all is done sends its log along.
TEST(PushLink, TheLogInAnAnswerIsKept) {
    FakeExecutor executor;
    executor.AnswerWith(200, R"({"status":"success","log":["read 3 rows","wrote them"]})");
    PushStack stack;
    ASSERT_TRUE(stack.Register(executor));

    const ExecutionId id = stack.Submit();

    ASSERT_TRUE(stack.watcher.AwaitEvent(EventType::kTaskCompleted, id));
    EXPECT_TRUE(stack.watcher.AwaitLog("read 3 rows\nwrote them\n"));
}

struct BadAnswer {
    const char* name;
    int status;
    std::string body;
    HttpHeaderList headers;
    bool retried;
};
class PushLinkBadAnswer : public testing::TestWithParam<BadAnswer> {};

// An executor, or what stands before it, answers what no executor should.
TEST_P(PushLinkBadAnswer, FailsTheAttemptAndIsRetriedOnlyIfThatMayHelp) {
    FakeExecutor executor;
    executor.AnswerWith(GetParam().status, GetParam().body, GetParam().headers);
    PushStack stack;
    ASSERT_TRUE(stack.Register(executor));

    const ExecutionId id = stack.Submit(1);

    ASSERT_TRUE(stack.watcher.AwaitEvent(EventType::kTaskFailed, id));
    EXPECT_EQ(executor.orders(), GetParam().retried ? 2 : 1);
    EXPECT_FALSE(stack.Read(id).outcome->message.empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, PushLinkBadAnswer,
    testing::Values(BadAnswer{"InternalError", 500, "", {}, true},
                    BadAnswer{"TooMany", 429, "", {}, true},
                    BadAnswer{"NotFound", 404, "", {}, false},
                    BadAnswer{"Redirect", 302, "", {{"Location", "http://127.0.0.1:1/"}}, false},
                    BadAnswer{"FiveMegabytes", 200, std::string(5 << 20, ' '), {}, false},
                    BadAnswer{"WrongTypes", 200, R"({"status":"failed","error":7})", {}, false},
                    BadAnswer{"UnknownStatus", 200, R"({"status":"ok"})", {}, false},
                    BadAnswer{"CodeAsText",
                              200,
                              R"({"status":"failed","error":{"code":"E1","message":"m"}})",
                              {},
                              true}),
    [](const auto& info) { return info.param.name; });

// An executor hangs: the call ends by its own deadline.
TEST(PushLink, AnExecutorThatNeverAnswersFailsTheAttempt) {
    FakeExecutor executor;
    executor.Hang();
    PushStack stack({.timeout = Duration(200)});
    ASSERT_TRUE(stack.Register(executor));

    const ExecutionId id = stack.Submit();

    ASSERT_TRUE(stack.watcher.AwaitEvent(EventType::kTaskFailed, id));
    EXPECT_EQ(stack.Read(id).outcome->reason, Reason::kTimeout);
    EXPECT_THAT(stack.Read(id).outcome->message.str(),
                AllOf(HasSubstr("was called, and may have done it"),
                      HasSubstr("did not answer within 200ms")));
}

// A task's own timeout ends the call: that is what happened, whatever was under way.
TEST(PushLink, ATaskThatTakesTooLongTimesOut) {
    FakeExecutor executor;
    executor.Hang();
    PushStack stack;
    ASSERT_TRUE(stack.Register(executor));

    const ExecutionId id = stack.Submit(0, Duration(200));

    ASSERT_TRUE(stack.watcher.AwaitEvent(EventType::kTaskFailed, id));
    EXPECT_EQ(stack.Read(id).outcome->reason, Reason::kTimeout);
    EXPECT_EQ(stack.Read(id).outcome->message, "took longer than its timeout of 200ms");
}

// An address at which nobody listens.
std::string NobodysUrl() {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    EXPECT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    socklen_t size = sizeof address;
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
    ::close(listener);
    return "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

// An instance has died and nobody has noticed yet: what did not reach it is no failure, and is not
// tried without end.
TEST(PushLink, ARefusedConnectionCostsNoRetry) {
    PushStack stack({.breaker = {.failures_max = 3, .open_min = Duration(60'000)}});
    ASSERT_TRUE(stack.RegisterAt(NobodysUrl(), "dead"));
    const ExecutionId id = stack.Submit(0);
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (stack.View("dead").circuit != CircuitBreaker::State::kOpen &&
           std::chrono::steady_clock::now() < end) {
        std::this_thread::yield();
    }
    ASSERT_EQ(stack.View("dead").circuit, CircuitBreaker::State::kOpen);
    EXPECT_THAT(stack.View("dead").trouble, testing::HasSubstr("refused"));
    EXPECT_THAT(stack.Explain(id), testing::HasSubstr("refused"));

    FakeExecutor executor;
    executor.AnswerWith(200, R"({"status":"success"})");
    ASSERT_TRUE(stack.Register(executor, "alive"));

    ASSERT_TRUE(stack.watcher.AwaitEvent(EventType::kTaskCompleted, id));
    EXPECT_EQ(stack.Read(id).failures, 0u);
    EXPECT_EQ(stack.Read(id).losses, 0u);
    EXPECT_EQ(stack.Read(id).attempt, 4u);
    const std::vector<PastAttempt> past = stack.Read(id).outcome->past;
    ASSERT_EQ(past.size(), 3u);
    for (const PastAttempt& returned : past) {
        EXPECT_THAT(returned.message.str(), testing::HasSubstr("refused")) << returned.attempt;
    }
}

// Strangers' connections have used up our own descriptors: neither the task nor the executor has
// failed.
TEST(PushLink, OurOwnShortageIsNobodysFailure) {
    FakeExecutor executor;
    executor.AnswerWith(200, R"({"status":"success"})");
    PushStack stack({.breaker = {.failures_max = 1, .open_min = Duration(60'000)}});
    ASSERT_TRUE(stack.Register(executor));
    stack.shortages = 1;

    const ExecutionId id = stack.Submit(0);

    ASSERT_TRUE(stack.watcher.AwaitEvent(EventType::kTaskCompleted, id));
    EXPECT_EQ(stack.View("executor-1").circuit, CircuitBreaker::State::kClosed);
    EXPECT_EQ(stack.Read(id).failures, 0u);
}

// An executor, or an attacker in its place, sends a byte now and then to keep the call open.
TEST(PushLink, AnExecutorThatTricklesIsCutOffAtTheDeadline) {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(listener, 4), 0);
    socklen_t size = sizeof address;
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
    std::thread trickle([&] {
        const int peer = ::accept(listener, nullptr, nullptr);
        const std::string_view head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
        ::send(peer, head.data(), head.size(), MSG_NOSIGNAL);
        timeval second{.tv_sec = 1, .tv_usec = 0};
        ::setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
        char byte = 0;
        // Until the other side has gone.
        for (int i = 0; i < 20; ++i) {
            if (::send(peer, " ", 1, MSG_NOSIGNAL) != 1) break;
            while (::recv(peer, &byte, 1, 0) > 0) {
            }
            if (errno != EAGAIN && errno != EWOULDBLOCK) break;
        }
        ::close(peer);
    });
    {
        PushStack stack({.timeout = Duration(300)});
        Worker row;
        row.id = WorkerId(Text("trickler"));
        row.link = LinkKind::kPush;
        row.address = Text("http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
        std::promise<Result<void>> registered;
        stack.link().Register(row, [&](Result<void> done) { registered.set_value(done); });
        ASSERT_TRUE(registered.get_future().get());

        const ExecutionId id = stack.Submit();

        EXPECT_TRUE(stack.watcher.AwaitEvent(EventType::kTaskFailed, id));
    }
    trickle.join();
    ::close(listener);
}

// A name was fine when it registered, and now points at this machine.
TEST(PushLink, AnAddressThatIsNotAllowedIsNotConnectedTo) {
    FakeExecutor executor;
    PushStack stack({}, std::make_shared<MemoryDatabase>(), "node-1", {},
                    *ServicePolicy::Make({"10.0.0.0/8"}, false));
    ASSERT_TRUE(stack.Register(executor));

    const ExecutionId id = stack.Submit(3);

    ASSERT_TRUE(stack.watcher.AwaitEvent(EventType::kTaskFailed, id));
    EXPECT_THAT(stack.Read(id).outcome->message.str(), HasSubstr("not allowed"));
    EXPECT_EQ(stack.Read(id).attempt, 1u);
    EXPECT_EQ(executor.orders(), 0u);
}

// An executor that can hold a thousand runs is not called a thousand times at once.
TEST(PushLink, CallsToOneInstanceAreBounded) {
    FakeExecutor executor;
    executor.Hang();
    PushStack stack({.concurrency_max = 2, .timeout = Duration(400)});
    ASSERT_TRUE(stack.Register(executor, "executor-1", 10));
    std::vector<ExecutionId> ids;
    for (int i = 0; i < 4; ++i) ids.push_back(stack.Submit());

    executor.AwaitOrder(2);
    EXPECT_EQ(executor.orders(), 2u);
    for (const ExecutionId& id : ids) {
        EXPECT_TRUE(stack.watcher.AwaitEvent(EventType::kTaskFailed, id));
    }
    EXPECT_EQ(executor.orders(), 4u);
}

// An attempt that waits for a free call does not spend its own time.
TEST(PushLink, ATimeoutCountsFromTheCall) {
    FakeExecutor executor;
    executor.Hang();
    PushStack stack({.concurrency_max = 1});
    ASSERT_TRUE(stack.Register(executor, "executor-1", 10));
    const auto deadline = [&](std::size_t number) {
        const auto order = boost::json::parse(executor.AwaitOrder(number).body);
        return *ParseTime(order.at("deadline").as_string());
    };
    const ExecutionId hangs = stack.Submit(0, Duration(400));
    const Time first = deadline(1);
    const ExecutionId waits = stack.Submit(0, Duration(400));
    executor.AnswerWith(200, R"({"status":"success"})");

    EXPECT_TRUE(stack.watcher.AwaitEvent(EventType::kTaskFailed, hangs));
    EXPECT_GT(deadline(2) - first, Duration(300)) << "it has its whole time";
    EXPECT_TRUE(stack.watcher.AwaitEvent(EventType::kTaskCompleted, waits));
}

// Five failures in a row: nothing more is sent until a probe works.
TEST(PushLink, AFailingInstanceIsTakenOutOfRotationAndTriedAgain) {
    FakeExecutor executor;
    executor.AnswerWith(500, "");
    PushStack stack({.breaker = {.failures_max = 3, .open_min = Duration(300)}});
    ASSERT_TRUE(stack.Register(executor, "executor-1", 1));

    const ExecutionId id = stack.Submit(10);
    executor.AwaitOrder(3);
    executor.AnswerWith(200, R"({"status":"success"})");

    ASSERT_TRUE(stack.watcher.AwaitEvent(EventType::kTaskCompleted, id));
    EXPECT_EQ(stack.View("executor-1").circuit, CircuitBreaker::State::kClosed);
    EXPECT_LE(executor.orders(), 5u);
}

// It fails with a full hand and more waiting: nothing is lost, and what was not sent costs no
// retry.
TEST(PushLink, WhatAnOpenCircuitHeldBackRunsWhenItCloses) {
    FakeExecutor executor;
    executor.AnswerWith(500, "");
    PushStack stack(
        {.concurrency_max = 1, .breaker = {.failures_max = 2, .open_min = Duration(200)}});
    ASSERT_TRUE(stack.Register(executor, "executor-1", 5));
    std::vector<ExecutionId> ids;
    for (int i = 0; i < 12; ++i) ids.push_back(stack.Submit(3));
    executor.AwaitOrder(2);
    executor.AnswerWith(200, R"({"status":"success"})");

    for (const ExecutionId& id : ids) {
        ASSERT_TRUE(stack.watcher.AwaitEvent(EventType::kTaskCompleted, id));
        EXPECT_EQ(stack.Read(id).losses, 0u);
    }
    EXPECT_LE(executor.orders(), 12u + 3u);
}

}  // namespace
}  // namespace takt::internal
