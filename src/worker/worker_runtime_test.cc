// The life of a worker: its sessions, the schedulers it finds, its end.
#include <gmock/gmock.h>

#include "tests/support/proxy.h"
#include "worker/runtime_test_support.h"

namespace takt::internal {
namespace {

using testing::HasSubstr;
using namespace testing_support;

// The network breaks while work runs: it goes on, and its result is delivered afterwards.
TEST_F(WorkerRuntimeTest, WorkSurvivesALostConnectionAndItsResultIsDelivered) {
    Latch began;
    Latch may_end;
    Latch ended;
    On("long", [&](TaskContext&) {
        began.Open();
        EXPECT_TRUE(may_end.Await());
        ended.Open();
        return TaskResult::Success("1");
    });
    TcpProxy proxy(stack_->port());
    WorkerOptions options = Quick();
    options.servers = {proxy.url()};
    Start(options);
    const ExecutionId id = stack_->Submit({.type = "long"});
    ASSERT_TRUE(began.Await());
    proxy.Cut();
    ASSERT_TRUE(AwaitEvents(WorkerEvent::kDisconnected));
    may_end.Open();
    ASSERT_TRUE(ended.Await());
    proxy.Restore();
    const Execution row = AwaitEnd(id, EventType::kTaskCompleted);
    EXPECT_EQ(row.attempt, 1u);
    EXPECT_EQ(row.losses, 0u);
}

// The result left, its acknowledgement never came: the worker must say it again.
TEST_F(WorkerRuntimeTest, AnUnacknowledgedResultIsSentAgain) {
    On("noop", [](TaskContext&) { return TaskResult::Success("2"); });
    TcpProxy proxy(stack_->port());
    WorkerOptions options = Quick();
    options.servers = {proxy.url()};
    Start(options);
    ASSERT_TRUE(AwaitEvents(WorkerEvent::kAttached));
    proxy.HoldAnswersAfter("assign-marker");
    const ExecutionId id = stack_->Submit({.payload = R"("assign-marker")"});
    AwaitEnd(id, EventType::kTaskCompleted);
    EXPECT_EQ(worker_->status().in_hand, 1u);
    proxy.Cut();
    proxy.Restore();
    const Steady until = SteadyClock::now() + kPatience;
    while (worker_->status().in_hand > 0 && SteadyClock::now() < until) std::this_thread::yield();
    EXPECT_EQ(worker_->status().in_hand, 0u);
    // It is what was stored: nothing is stale about it.
    EXPECT_EQ(worker_->status().refused_stale, 0u);
    worker_->Stop();
    EXPECT_TRUE(worker_->Wait());
}

// The cable is pulled: nothing closes, nothing arrives.
TEST_F(WorkerRuntimeTest, ASilentSchedulerIsLeft) {
    Begin({.link = {.heartbeat = Duration(20)}});
    On("noop", [](TaskContext&) { return TaskResult::Success(); });
    TcpProxy proxy(stack_->port());
    WorkerOptions options = Quick();
    options.servers = {proxy.url()};
    options.lease = Duration(200);
    Start(options);
    ASSERT_TRUE(AwaitEvents(WorkerEvent::kAttached));
    proxy.Freeze();
    ASSERT_TRUE(AwaitEvents(WorkerEvent::kDisconnected));
    proxy.Restore();
    ASSERT_TRUE(AwaitEvents(WorkerEvent::kAttached, 2));
    AwaitEnd(stack_->Submit({}), EventType::kTaskCompleted);
}

// Only a follower's address is known; and that of a machine that is gone.
TEST_F(WorkerRuntimeTest, TheWorkerFindsTheLeaderThroughAnyServer) {
    const auto database = std::make_shared<MemoryDatabase>();
    Begin({.database = database, .node = "leader"});
    Stack follower({.database = database, .node = "follower"});
    On("noop", [](TaskContext&) { return TaskResult::Success(); });
    WorkerOptions options = Quick();
    options.servers = {"http://127.0.0.1:1", follower.url()};
    Start(options);
    AwaitEnd(stack_->Submit({}), EventType::kTaskCompleted);
    EXPECT_EQ(worker_->status().node_id, "leader");
}

// All schedulers were replaced by new ones on other machines; the worker was told only the store.
TEST_F(WorkerRuntimeTest, SchedulersThatMovedAreFoundAgain) {
    Begin({});
    On("noop", [](TaskContext&) { return TaskResult::Success(); });
    WorkerOptions options = Quick();
    options.servers = {"http://127.0.0.1:1", "http://127.0.0.1:2"};
    options.find_servers = [this] { return std::vector{stack_->url()}; };
    Start(options);
    AwaitEnd(stack_->Submit({}), EventType::kTaskCompleted);
}

// The leader stops; its follower takes over. What runs is not disturbed.
TEST_F(WorkerRuntimeTest, ALeaderChangeDoesNotDisturbWhatRuns) {
    const auto database = std::make_shared<MemoryDatabase>();
    Begin({.database = database, .node = "first"});
    Stack second({.database = database, .node = "second"});
    Latch began;
    Latch may_end;
    OnLong("long", began, may_end);
    WorkerOptions options = Quick();
    options.servers = {stack_->url(), second.url()};
    Start(options);
    const ExecutionId id = stack_->Submit({.type = "long"});
    ASSERT_TRUE(began.Await());
    stack_->Stop();
    ASSERT_TRUE(second.watcher.AwaitRole(Role::kLeader));
    may_end.Open();
    ASSERT_TRUE(second.watcher.AwaitEvent(EventType::kTaskCompleted, id));
    EXPECT_EQ(second.Read(id).attempt, 1u);
}

TEST_F(WorkerRuntimeTest, StopFinishesWhatRunsAndSaysBye) {
    Latch began;
    Latch may_end;
    OnLong("long", began, may_end);
    Start();
    const ExecutionId id = stack_->Submit({.type = "long"});
    ASSERT_TRUE(began.Await());
    worker_->Stop();
    ASSERT_TRUE(AwaitEvents(WorkerEvent::kDraining));
    may_end.Open();
    EXPECT_TRUE(worker_->Wait());
    EXPECT_EQ(stack_->Read(id).status, Status::kSuccess);
    EXPECT_TRUE(stack_->watcher.AwaitEvents(EventType::kWorkerLeft, 1));
}

// The drain has an end: what still runs then is asked to stop, and runs elsewhere, nobody's
// failure.
TEST_F(WorkerRuntimeTest, WorkThatOutlastsTheDrainIsGivenToOthersWithoutCountingAsAFailure) {
    On("long", [](TaskContext& context) {
        EXPECT_EQ(AwaitStop(context), StopReason::kShutdown);
        return TaskResult::Failure("interrupted");
    });
    WorkerOptions options = Quick();
    options.drain_timeout = Duration(30);
    Start(options);
    const ExecutionId id = stack_->Submit({.type = "long"});
    ASSERT_TRUE(stack_->watcher.AwaitEvent(EventType::kTaskStarted, id));
    worker_->Stop();
    EXPECT_TRUE(worker_->Wait());
    EXPECT_TRUE(stack_->watcher.AwaitEvents(EventType::kWorkerLeft, 1));
    const Execution row = stack_->Read(id);
    EXPECT_EQ(row.status, Status::kPending);
    EXPECT_EQ(row.failures, 0u);
    EXPECT_EQ(row.losses, 0u);
}

// Somebody presses Ctrl-C twice.
TEST_F(WorkerRuntimeTest, ASecondStopQuitsAtOnce) {
    const auto handler = OnStuck("stuck");
    Start();
    const ExecutionId id = stack_->Submit({.type = "stuck"});
    ASSERT_TRUE(stack_->watcher.AwaitEvent(EventType::kTaskStarted, id));
    worker_->Stop();
    worker_->Stop();
    EXPECT_TRUE(worker_->Wait());
    worker_.reset();
    handler->gate.Open();
    EXPECT_TRUE(handler->ended.Await());
}

TEST_F(WorkerRuntimeTest, AnIdleWorkerStopsItself) {
    On("noop", [](TaskContext&) { return TaskResult::Success(); });
    WorkerOptions options = Quick();
    options.idle_timeout = Duration(100);
    Start(options);
    AwaitEnd(stack_->Submit({}), EventType::kTaskCompleted);
    EXPECT_TRUE(worker_->Wait());
    EXPECT_TRUE(AwaitEvents(WorkerEvent::kStopped));
}

TEST_F(WorkerRuntimeTest, StopWithoutAnySchedulerEnds) {
    On("noop", [](TaskContext&) { return TaskResult::Success(); });
    WorkerOptions options = Quick();
    options.servers = {"http://127.0.0.1:1"};
    Start(options);
    ASSERT_TRUE(AwaitEvents(WorkerEvent::kDisconnected, 2));
    EXPECT_FALSE(worker_->status().attached);
    worker_->Stop();
    EXPECT_TRUE(worker_->Wait());
}

// Two processes with one id: the second says who has it, waits and does not fight over it.
TEST_F(WorkerRuntimeTest, AWorkerWhoseIdAnotherHasWaitsUntilThatOneIsGone) {
    On("noop", [](TaskContext&) { return TaskResult::Success(); });
    RawWorker other(stack_->url());
    other.Send(RawWorker::Hello("w-1"));
    ASSERT_TRUE(other.Next().has_welcome());
    Start();
    ASSERT_TRUE(AwaitEvents(WorkerEvent::kDisconnected));
    EXPECT_THAT(worker_->status().trouble, HasSubstr("another worker has the id 'w-1'"));
    EXPECT_FALSE(worker_->status().attached);
    other.Close();
    EXPECT_TRUE(AwaitEvents(WorkerEvent::kAttached));
}

TEST_F(WorkerRuntimeTest, HealthTellsWhetherItIsAttached) {
    On("noop", [](TaskContext&) { return TaskResult::Success(); });
    WorkerOptions options = Quick();
    options.health_listen = "127.0.0.1:0";
    Start(options);
    ASSERT_TRUE(AwaitEvents(WorkerEvent::kAttached));
    auto client = BlockingHttpClient::Create({});
    const std::string base = "http://127.0.0.1:" + std::to_string(worker_->health_port());
    EXPECT_EQ((*client)->Send({.url = base + "/healthz"})->status, 200);
    EXPECT_EQ((*client)->Send({.url = base + "/readyz"})->status, 200);
    EXPECT_THAT((*client)->Send({.url = base + "/metrics"})->body,
                HasSubstr("# HELP takt_worker_attached 1 while it is attached to a scheduler.\n"
                          "# TYPE takt_worker_attached gauge\n"
                          "takt_worker_attached 1\n"));
    stack_->Stop();
    ASSERT_TRUE(AwaitEvents(WorkerEvent::kDisconnected));
    EXPECT_EQ((*client)->Send({.url = base + "/readyz"})->status, 503);
}

TEST_F(WorkerRuntimeTest, OptionsThatCannotWorkAreRefused) {
    On("noop", [](TaskContext&) { return TaskResult::Success(); });
    const auto field = [&](WorkerOptions options) {
        auto worker = WorkerRuntime::Create(std::move(options), handlers_);
        return worker ? std::string() : worker.error().field;
    };
    EXPECT_EQ(field({}), "servers");
    EXPECT_EQ(field({.servers = {"localhost:1"}}), "servers");
    EXPECT_EQ(field({.servers = {"http://a"}, .id = "a b"}), "id");
    EXPECT_EQ(field({.servers = {"http://a"}, .capacity = 0}), "capacity");
    EXPECT_EQ(field({.servers = {"http://a"}, .capacity = 1u << 31}), "capacity");
    EXPECT_EQ(field({.servers = {"http://a"}, .weight = 1001}), "weight");
    EXPECT_EQ(field({.servers = {"http://a"}, .stop_grace = Duration(-1)}), "stop_grace");
    EXPECT_EQ(field({.servers = {"http://a"}, .buffer_size = 0}), "buffer_size");
    HandlerRegistry empty;
    EXPECT_EQ(WorkerRuntime::Create({.servers = {"http://a"}}, empty).error().field, "handlers");
}

}  // namespace
}  // namespace takt::internal
