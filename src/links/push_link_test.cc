#include "links/push_link.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "links/push_test_support.h"

namespace takt::internal {
namespace {

using namespace testing_support;
using testing::HasSubstr;
using Kind = CallbackAnswer::Verdict;

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
                    BadAnswer{"WrongTypes", 200, R"({"status":"failed","error":7})", {}, false}),
    [](const auto& info) { return info.param.name; });

// An executor hangs: the call ends by its own deadline.
TEST(PushLink, AnExecutorThatNeverAnswersFailsTheAttempt) {
    FakeExecutor executor;
    executor.Hang();
    PushStack stack({.timeout = Duration(200)});
    ASSERT_TRUE(stack.Register(executor));

    const ExecutionId id = stack.Submit();

    ASSERT_TRUE(stack.watcher.AwaitEvent(EventType::kTaskFailed, id));
    EXPECT_THAT(stack.Read(id).outcome->message.str(), HasSubstr("could not be called"));
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
    PushStack stack({}, std::make_shared<MemoryDatabase>(), "node-1",
                    *ExecutorPolicy::Make({"10.0.0.0/8"}, false));
    ASSERT_TRUE(stack.Register(executor));

    const ExecutionId id = stack.Submit(3);

    ASSERT_TRUE(stack.watcher.AwaitEvent(EventType::kTaskFailed, id));
    EXPECT_THAT(stack.Read(id).outcome->message.str(), HasSubstr("not allowed"));
    EXPECT_EQ(stack.Read(id).attempt, 1u);
    EXPECT_EQ(executor.orders(), 0u);
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

class PushLinkRemoval : public testing::TestWithParam<bool> {};

// An operator removes it through the list of workers, where it stands too, online or not. A
// heartbeat that crosses the removal does not bring it back.
TEST_P(PushLinkRemoval, AnExecutorThatWasRemovedAsAWorkerIsForgotten) {
    FakeExecutor executor;
    PushStack stack;
    ASSERT_TRUE(stack.Register(executor));
    if (GetParam()) ASSERT_TRUE(stack.SetStatus("executor-1", WorkerStatus::kOffline));
    std::promise<Result<Answer>> removed;
    stack.node().Ask(RemoveWorker{.worker = WorkerId(Text("executor-1"))},
                     [&](Result<Answer> answer) { removed.set_value(std::move(answer)); });
    ASSERT_TRUE(removed.get_future().get());

    const auto beat = [&] {
        std::promise<Result<void>> beaten;
        stack.link().Beat(WorkerId(Text("executor-1")), {},
                          [&](Result<void> done) { beaten.set_value(done); });
        return beaten.get_future().get();
    };
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (beat() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    const auto last = beat();
    ASSERT_FALSE(last);
    EXPECT_EQ(last.error().code, ErrorCode::kNotFound);
}

INSTANTIATE_TEST_SUITE_P(All, PushLinkRemoval, testing::Bool(),
                         [](const auto& info) { return info.param ? "Offline" : "Online"; });

// Two processes, one id: the one that is connected keeps it.
TEST(PushLink, AnIdThatAConnectedWorkerHasIsRefused) {
    FakeExecutor executor;
    PushStack stack;
    Worker worker;
    worker.id = WorkerId(Text("executor-1"));
    stack.node().Tell(Attach{.session = 1'000'000, .worker = worker});
    const auto registered = stack.Register(executor);
    ASSERT_FALSE(registered);
    EXPECT_EQ(registered.error().code, ErrorCode::kConflict);
}

// The process crashed and came back: what it had is not waited for until its timeout.
TEST(PushLink, ANewProcessOfAnInstanceGivesBackWhatTheOldOneHad) {
    FakeExecutor executor;
    PushStack stack;
    ASSERT_TRUE(stack.Register(executor, "executor-1", 10, false, "first"));
    stack.Submit();
    const Order lost = executor.AwaitOrder(1);
    ASSERT_TRUE(stack.Register(executor, "executor-1", 10, false, "first"));
    EXPECT_EQ(executor.orders(), 1u);

    ASSERT_TRUE(stack.Register(executor, "executor-1", 10, false, "second"));

    const Order again = executor.AwaitOrder(2);
    EXPECT_EQ(again.attempt, 2);
    EXPECT_EQ(stack.Callback(lost.execution, lost.token, true), Kind::kStale);
    EXPECT_EQ(stack.Callback(again.execution, again.token, true), Kind::kAccepted);
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

// The health page fails, then works again: out after the threshold, back after the other.
TEST(PushLink, HealthChecksTakeAnExecutorOutAndBringItBack) {
    FakeExecutor executor;
    executor.SetHealth(503);
    PushStack stack({.health_interval = Duration(30),
                     .health_timeout = Duration(5'000),
                     .failure_threshold = 3,
                     .recovery_threshold = 2});
    ASSERT_TRUE(stack.Register(executor, "executor-1", 10, true));
    const ExecutionId id = stack.Submit();
    const Order first = executor.AwaitOrder(1);

    ASSERT_TRUE(stack.watcher.AwaitEvents(EventType::kWorkerOffline, 1));
    EXPECT_GE(executor.health_checks(), 3);
    EXPECT_EQ(stack.StatusOf("executor-1"), WorkerStatus::kOffline);
    const int before = executor.health_checks();
    executor.SetHealth(200);
    ASSERT_TRUE(stack.watcher.AwaitEvents(EventType::kWorkerOnline, 1));
    EXPECT_GE(executor.health_checks(), before + 1);

    // What it had was given away, and comes again as another attempt.
    const Order second = executor.AwaitOrder(2);
    EXPECT_EQ(second.attempt, 2);
    EXPECT_EQ(stack.Callback(first.execution, first.token, true), Kind::kStale);
    EXPECT_EQ(stack.Callback(second.execution, second.token, true), Kind::kAccepted);
    EXPECT_EQ(stack.Read(id).losses, 1u);
}

// An executor without a health page says itself that it lives, or is taken for dead.
TEST(PushLink, AnExecutorThatIsSilentForTooLongIsTakenOut) {
    FakeExecutor executor;
    PushStack stack(
        {.health_interval = Duration(30), .failure_threshold = 1, .lease = Duration(150)});
    ASSERT_TRUE(stack.Register(executor));

    ASSERT_TRUE(stack.watcher.AwaitEvents(EventType::kWorkerOffline, 1));
    std::promise<Result<void>> beaten;
    stack.link().Beat(WorkerId(Text("executor-1")), {},
                      [&](Result<void> done) { beaten.set_value(done); });
    ASSERT_TRUE(beaten.get_future().get());
    EXPECT_TRUE(stack.watcher.AwaitEvents(EventType::kWorkerOnline, 1));
}

// An upgrade: nothing new comes, what runs is left alone.
TEST(PushLink, MaintenanceKeepsNewWorkAwayAndLetsRunningWorkEnd) {
    FakeExecutor executor;
    PushStack stack;
    ASSERT_TRUE(stack.Register(executor));
    stack.Submit();
    const Order running = executor.AwaitOrder(1);

    ASSERT_TRUE(stack.SetStatus("executor-1", WorkerStatus::kMaintenance));
    const ExecutionId held = stack.Submit();
    EXPECT_EQ(stack.Callback(running.execution, running.token, true), Kind::kAccepted);
    ASSERT_TRUE(stack.Register(executor));  // The new version starts.
    EXPECT_EQ(stack.StatusOf("executor-1"), WorkerStatus::kMaintenance);
    EXPECT_EQ(stack.Read(held).status, Status::kPending);

    ASSERT_TRUE(stack.SetStatus("executor-1", WorkerStatus::kOnline));
    EXPECT_EQ(executor.AwaitOrder(2).execution, held.text().str());
}

// An operator pulls the plug: its work goes elsewhere, and a good health page does not undo it.
TEST(PushLink, OfflineByAnOperatorHoldsUntilTheOperatorSaysOtherwise) {
    FakeExecutor executor;
    const auto database = std::make_shared<MemoryDatabase>();
    const PushLinkConfig config{.health_interval = Duration(20), .recovery_threshold = 1};
    {
        PushStack stack(config, database);
        ASSERT_TRUE(stack.Register(executor, "executor-1", 10, true));
        ASSERT_TRUE(stack.SetStatus("executor-1", WorkerStatus::kOffline));
        EXPECT_EQ(stack.StatusOf("executor-1"), WorkerStatus::kOffline);
    }
    PushStack next(config, database, "node-2");
    const int before = executor.health_checks();
    while (executor.health_checks() < before + 3) std::this_thread::yield();
    EXPECT_EQ(next.StatusOf("executor-1"), WorkerStatus::kOffline);

    ASSERT_TRUE(next.SetStatus("executor-1", WorkerStatus::kOnline));
    EXPECT_EQ(next.StatusOf("executor-1"), WorkerStatus::kOnline);
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

// --- What executors write -----------------------------------------------------------------------

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

TEST(ReadNews, NamesTheFieldAtFault) {
    for (const auto& [body, field] : std::vector<std::pair<std::string, std::string>>{
             {R"({"lines":[1]})", "lines"},
             {R"({"progress":{"percent":101}})", "progress.percent"},
             {R"({"progress":{"message":"x"}})", "progress.percent"},
             {R"({"progress":7})", "progress"},
             {R"({"line":"x"})", "line"}}) {
        const auto news = ReadNews(body);
        ASSERT_FALSE(news) << body;
        EXPECT_EQ(news.error().field, field) << body;
    }
    const auto good = ReadNews(R"({"lines":["a","b\n",""]})");
    ASSERT_TRUE(good);
    EXPECT_EQ(good->lines, "a\nb\n\n");
}

}  // namespace
}  // namespace takt::internal
