// Instances of executors: who may register and is removed, their health, and what operators say of
// them.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "links/push_link.h"
#include "links/push_test_support.h"

namespace takt::internal {
namespace {

using namespace testing_support;
using Kind = CallbackAnswer::Verdict;

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

class PushLinkTwins : public testing::TestWithParam<std::tuple<bool, bool>> {};

// Two processes with one instance_id, both alive: a configuration file was copied. They must not take
// the id, and each other's work, from each other.
TEST_P(PushLinkTwins, AnIdThatALivingProcessElsewhereHasIsRefused) {
    FakeExecutor first;
    FakeExecutor second;
    PushStack stack;
    const auto [checked, named] = GetParam();
    ASSERT_TRUE(stack.Register(first, "executor-1", 10, checked, named ? "first" : ""));
    stack.Submit();
    first.AwaitOrder(1);
    const auto refused = stack.Register(second, "executor-1", 10, checked, named ? "second" : "");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_TRUE(refused.error().detail.contains(first.url())) << refused.error().detail;
    EXPECT_EQ(second.orders(), 0u);
    EXPECT_TRUE(stack.Register(first, "executor-1", 10, checked, named ? "first" : ""));
}
INSTANTIATE_TEST_SUITE_P(HealthAndProcess, PushLinkTwins,
                         testing::Combine(testing::Bool(), testing::Bool()));

// A process that names itself may change its address, though its old one still answers.
TEST(PushLink, AProcessThatNamesItselfMoves) {
    FakeExecutor before;
    FakeExecutor after;
    PushStack stack;
    ASSERT_TRUE(stack.Register(before, "executor-1", 10, true, "it"));
    EXPECT_TRUE(stack.Register(after, "executor-1", 10, true, "it"));
    stack.Submit();
    after.AwaitOrder(1);
}

class PushLinkMoved : public testing::TestWithParam<bool> {};

// The machine died, and its process is back on another one.
TEST_P(PushLinkMoved, TheIdOfAProcessThatFailsItsHealthCheckIsTaken) {
    FakeExecutor first;
    FakeExecutor second;
    PushStack stack;
    ASSERT_TRUE(stack.Register(first, "executor-1", 10, true, GetParam() ? "first" : ""));
    first.SetHealth(503);
    EXPECT_TRUE(stack.Register(second, "executor-1", 10, true, GetParam() ? "second" : ""));
    stack.Submit();
    second.AwaitOrder(1);
}
INSTANTIATE_TEST_SUITE_P(Process, PushLinkMoved, testing::Bool());

TEST(PushLink, TheIdOfAProcessThatSentNoHeartbeatLatelyIsTaken) {
    FakeExecutor first;
    FakeExecutor second;
    PushStack stack({.health_interval = Duration(1)});
    ASSERT_TRUE(stack.Register(first, "executor-1", 10, false, "first"));
    while (!stack.Register(second, "executor-1", 10, false, "second")) std::this_thread::yield();
    stack.Submit();
    second.AwaitOrder(1);
}

// The process died, and the one that takes its place sends heartbeats before it is registered: that
// does not keep the dead one alive.
TEST(PushLink, HeartbeatsOfANewcomerDoNotKeepADeadProcessAlive) {
    FakeExecutor second;
    PushStack stack;
    {
        FakeExecutor first;
        ASSERT_TRUE(stack.Register(first, "executor-1"));
    }
    std::promise<Result<void>> beaten;
    stack.link().Beat(WorkerId(Text("executor-1")), {},
                      [&](Result<void> done) { beaten.set_value(done); });
    ASSERT_TRUE(beaten.get_future().get());
    EXPECT_TRUE(stack.Register(second, "executor-1"));
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

    // The work that it had was given away, and comes again as another attempt.
    const Order second = executor.AwaitOrder(2);
    EXPECT_EQ(second.attempt, 2);
    EXPECT_EQ(stack.Callback(first.execution, first.token, true), Kind::kStale);
    EXPECT_EQ(stack.Callback(second.execution, second.token, true), Kind::kAccepted);
    EXPECT_EQ(stack.Read(id).losses, 1u);
}

// An executor without a health page says itself that it lives, or is taken for dead.
TEST(PushLink, AnExecutorThatIsSilentForTooLongIsTakenOut) {
    FakeExecutor executor;
    EngineConfig engine;
    engine.worker_lease = Duration(150);
    PushStack stack({.health_interval = Duration(30), .failure_threshold = 1},
                    std::make_shared<MemoryDatabase>(), "node-1", engine);
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

}  // namespace
}  // namespace takt::internal
