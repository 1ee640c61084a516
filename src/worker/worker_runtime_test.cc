// The worker runtime against a whole scheduler in the same process, over real sockets.
#include "worker/worker_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <semaphore>

#include "tests/support/proxy.h"
#include "tests/support/stack.h"

namespace takt::internal {
namespace {

using testing::HasSubstr;
using namespace testing_support;

// Opens once, for handlers and tests to wait on.
class Gate {
  public:
    void Open() {
        const std::scoped_lock lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }
    bool Await() {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, kPatience, [&] { return open_; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false;
};

class WorkerRuntimeTest : public testing::Test {
  protected:
    WorkerRuntimeTest() { Begin({}); }
    ~WorkerRuntimeTest() override { worker_.reset(); }

    void Begin(StackOptions options) {
        stack_.reset();
        stack_ = std::make_unique<Stack>(std::move(options));
        EXPECT_TRUE(stack_->watcher.AwaitRole(Role::kLeader));
    }
    void On(std::string type, TaskFunction function) {
        ASSERT_TRUE(executors_.AddFunction(std::move(type), std::move(function)));
    }
    static WorkerOptions Quick() {
        WorkerOptions options;
        options.id = "w-1";
        options.backoff_min = Duration(5);
        options.backoff_max = Duration(50);
        options.stop_grace = Duration(100);
        return options;
    }
    void Start(WorkerOptions options = Quick()) {
        if (options.servers.empty()) options.servers = {stack_->url()};
        options.on_event = [this](WorkerEvent event, std::string_view detail) {
            const std::scoped_lock lock(mutex_);
            events_.emplace_back(event, detail);
            changed_.notify_all();
        };
        auto worker = WorkerRuntime::Create(std::move(options), executors_);
        ASSERT_TRUE(worker) << worker.error().detail;
        worker_ = std::move(*worker);
        ASSERT_TRUE(worker_->Start());
    }
    bool AwaitEvents(WorkerEvent event, std::size_t count = 1) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, kPatience, [&] {
            return std::ranges::count(events_, event, [](const auto& e) { return e.first; }) >=
                   static_cast<std::ptrdiff_t>(count);
        });
    }
    Execution AwaitEnd(const ExecutionId& id, EventType type) {
        EXPECT_TRUE(stack_->watcher.AwaitEvent(type, id));
        return stack_->Read(id);
    }

    std::unique_ptr<Stack> stack_;
    ExecutorRegistry executors_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::pair<WorkerEvent, std::string>> events_;
    std::unique_ptr<WorkerRuntime> worker_;
};

// What the README promises: a function, a submit, a result.
TEST_F(WorkerRuntimeTest, AHandlerRunsAndItsResultIsStored) {
    On("greet", [](TaskContext& context) {
        EXPECT_EQ(context.task().attempt, 1u);
        EXPECT_EQ(context.task().metadata.at("customer"), "42");
        EXPECT_GT(context.fencing_token().epoch, 0u);
        EXPECT_FALSE(context.stop_token().stop_requested());
        EXPECT_LE(context.Remaining(Duration(0)), Duration(9'000));
        EXPECT_GT(context.Remaining(Duration(0)), Duration(0));
        context.Log("first\nsecond");
        context.Progress(0.5, "half");
        return TaskResult::Success("{\"greeting\":" + context.payload() + "}");
    });
    Start();
    const ExecutionId id =
        stack_->Submit({.type = "greet", .payload = R"("hello")", .timeout = 9s});
    const Execution row = AwaitEnd(id, EventType::kTaskCompleted);
    EXPECT_EQ(row.outcome->data, R"({"greeting":"hello"})");
    EXPECT_EQ(row.worker.view(), "w-1");
    EXPECT_TRUE(stack_->watcher.AwaitLog("first\nsecond\n"));
    EXPECT_EQ(worker_->status().succeeded, 1u);
}

TEST_F(WorkerRuntimeTest, AHandlerThatThrowsFailsAndIsRetried) {
    std::atomic<int> calls = 0;
    On("flaky", [&](TaskContext& context) -> TaskResult {
        if (++calls == 1) throw std::runtime_error("caf\xe9 is closed");
        if (calls == 2) throw 42;
        EXPECT_EQ(context.task().failures, 2u);
        return TaskResult::Success();
    });
    Start();
    const ExecutionId id = stack_->Submit({.type = "flaky", .retries_max = 2});
    EXPECT_EQ(AwaitEnd(id, EventType::kTaskCompleted).attempt, 3u);
    const ExecutionId other = stack_->Submit({.type = "unknown"});
    worker_->Stop();
    EXPECT_TRUE(worker_->Wait());
    EXPECT_EQ(stack_->Read(other).status, Status::kPending);
}

TEST_F(WorkerRuntimeTest, AFinalFailureIsNotRetried) {
    On("bad", [](TaskContext&) { return TaskResult::FinalFailure("no such customer", 404); });
    Start();
    const ExecutionId id = stack_->Submit({.type = "bad", .retries_max = 5});
    const Execution row = AwaitEnd(id, EventType::kTaskFailed);
    EXPECT_EQ(row.attempt, 1u);
    EXPECT_EQ(row.outcome->code, 404);
    EXPECT_EQ(row.outcome->message, "no such customer");
}

// Announced a type that it has no code for: a mistake in its configuration.
TEST_F(WorkerRuntimeTest, ATypeWithoutAnExecutorIsRejected) {
    On("known", [](TaskContext&) { return TaskResult::Success(); });
    WorkerOptions options = Quick();
    options.types = {"known", "other"};
    Start(options);
    const ExecutionId id = stack_->Submit({.type = "other"});
    const Execution row = AwaitEnd(id, EventType::kTaskFailed);
    EXPECT_EQ(row.outcome->reason, Reason::kRejected);
    EXPECT_THAT(row.outcome->message.str(), HasSubstr("other"));
}

// A handler that obeys: it ends when its time is over, and says so.
TEST_F(WorkerRuntimeTest, AHandlerIsAskedToStopAtItsTimeout) {
    On("slow", [](TaskContext& context) {
        Gate stopped;
        const std::stop_callback callback(context.stop_token(), [&] { stopped.Open(); });
        EXPECT_TRUE(stopped.Await());
        EXPECT_EQ(context.stop_reason(), StopReason::kTimeout);
        return TaskResult::Failure("stopped in time");
    });
    Start();
    const ExecutionId id = stack_->Submit({.type = "slow", .timeout = 30ms});
    const Execution row = AwaitEnd(id, EventType::kTaskFailed);
    EXPECT_EQ(row.outcome->reason, Reason::kTimeout);
    EXPECT_EQ(row.outcome->message, "stopped in time");
}

// A handler that hangs: its thread is lost, its slot is not.
TEST_F(WorkerRuntimeTest, AHandlerThatDoesNotStopIsAbandonedAndItsPlaceUsedAgain) {
    const auto gate = std::make_shared<Gate>();
    const auto ended = std::make_shared<Gate>();
    On("stuck", [gate, ended](TaskContext&) {
        gate->Await();
        ended->Open();
        return TaskResult::Success();
    });
    On("noop", [](TaskContext&) { return TaskResult::Success(); });
    WorkerOptions options = Quick();
    options.capacity = 1;
    options.stop_grace = Duration(20);
    Start(options);
    const ExecutionId stuck = stack_->Submit({.type = "stuck", .timeout = 20ms});
    const ExecutionId next = stack_->Submit({.type = "noop"});
    const Execution row = AwaitEnd(stuck, EventType::kTaskFailed);
    EXPECT_EQ(row.outcome->reason, Reason::kTimeout);
    EXPECT_THAT(row.outcome->message.str(), HasSubstr("abandoned"));
    AwaitEnd(next, EventType::kTaskCompleted);
    EXPECT_EQ(worker_->status().abandoned, 1u);
    // What it returns in the end is nobody's business any more.
    gate->Open();
    EXPECT_TRUE(ended->Await());
    const ExecutionId last = stack_->Submit({.type = "noop"});
    AwaitEnd(last, EventType::kTaskCompleted);
    EXPECT_EQ(stack_->Read(stuck).status, Status::kFailed);
    EXPECT_EQ(worker_->status().succeeded, 2u);
}

// Blocking user code, even in a stop callback, must not silence the worker.
TEST_F(WorkerRuntimeTest, HeartbeatsGoOnWhileHandlersAndTheirStopCallbacksBlock) {
    Begin({.link = {.heartbeat = Duration(20)}, .engine = {.worker_lease = Duration(400)}});
    const auto gate = std::make_shared<Gate>();
    On("block", [gate](TaskContext& context) {
        const std::stop_callback callback(context.stop_token(), [&] { gate->Await(); });
        gate->Await();
        return TaskResult::Success();
    });
    On("noop", [](TaskContext&) { return TaskResult::Success(); });
    Start();
    const ExecutionId id = stack_->Submit({.type = "block"});
    ASSERT_TRUE(stack_->watcher.AwaitEvent(EventType::kTaskStarted, id));
    ASSERT_TRUE(stack_->Ask(Cancel{.execution = id}));
    // Abandoned after its grace: its result comes, and is refused.
    ASSERT_TRUE(stack_->watcher.AwaitVerdict(false));
    EXPECT_EQ(worker_->status().abandoned, 1u);
    // Longer than the lease after that, the worker is still there and takes work.
    const ExecutionId later = stack_->Submit({.type = "noop", .delay = 600ms});
    AwaitEnd(later, EventType::kTaskCompleted);
    EXPECT_EQ(stack_->watcher.Count(EventType::kWorkerOffline), 0u);
    gate->Open();
}

TEST_F(WorkerRuntimeTest, ACancelStopsTheHandlerAndFreesItsPlace) {
    On("wait", [](TaskContext& context) {
        Gate stopped;
        const std::stop_callback callback(context.stop_token(), [&] { stopped.Open(); });
        stopped.Await();
        EXPECT_EQ(context.stop_reason(), StopReason::kCancelled);
        return TaskResult::Failure("cancelled");
    });
    On("noop", [](TaskContext&) { return TaskResult::Success(); });
    WorkerOptions options = Quick();
    options.capacity = 1;
    Start(options);
    const ExecutionId id = stack_->Submit({.type = "wait"});
    ASSERT_TRUE(stack_->watcher.AwaitEvent(EventType::kTaskStarted, id));
    ASSERT_TRUE(stack_->Ask(Cancel{.execution = id}));
    const ExecutionId next = stack_->Submit({.type = "noop"});
    AwaitEnd(next, EventType::kTaskCompleted);
    EXPECT_EQ(stack_->Read(id).status, Status::kCancelled);
    EXPECT_TRUE(stack_->watcher.AwaitVerdict(false));
}

// The network breaks while work runs: it goes on, and its result is delivered afterwards.
TEST_F(WorkerRuntimeTest, WorkSurvivesALostConnectionAndItsResultIsDelivered) {
    Gate began;
    Gate may_end;
    Gate ended;
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
    ASSERT_TRUE(stack_->watcher.AwaitVerdict(false));
    // Stops by itself only once nothing is left to be acknowledged.
    worker_->Stop();
    EXPECT_TRUE(worker_->Wait());
    EXPECT_EQ(worker_->status().in_hand, 0u);
    EXPECT_EQ(worker_->status().refused_stale, 1u);
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
    Gate began;
    Gate may_end;
    On("long", [&](TaskContext&) {
        began.Open();
        EXPECT_TRUE(may_end.Await());
        return TaskResult::Success();
    });
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
    Gate began;
    Gate may_end;
    On("long", [&](TaskContext&) {
        began.Open();
        EXPECT_TRUE(may_end.Await());
        return TaskResult::Success();
    });
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
        Gate stopped;
        const std::stop_callback callback(context.stop_token(), [&] { stopped.Open(); });
        EXPECT_TRUE(stopped.Await());
        EXPECT_EQ(context.stop_reason(), StopReason::kShutdown);
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
    const auto gate = std::make_shared<Gate>();
    const auto ended = std::make_shared<Gate>();
    On("stuck", [gate, ended](TaskContext&) {
        gate->Await();
        ended->Open();
        return TaskResult::Success();
    });
    Start();
    const ExecutionId id = stack_->Submit({.type = "stuck"});
    ASSERT_TRUE(stack_->watcher.AwaitEvent(EventType::kTaskStarted, id));
    worker_->Stop();
    worker_->Stop();
    EXPECT_TRUE(worker_->Wait());
    worker_.reset();
    gate->Open();
    EXPECT_TRUE(ended->Await());
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

// Two processes with one id: the older one must not fight over it for ever.
TEST_F(WorkerRuntimeTest, AWorkerWhoseIdIsTakenOverStops) {
    On("noop", [](TaskContext&) { return TaskResult::Success(); });
    Start();
    ASSERT_TRUE(AwaitEvents(WorkerEvent::kAttached));
    RawWorker other(stack_->url());
    other.Send(RawWorker::Hello("w-1"));
    const auto outcome = worker_->Wait();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, ErrorCode::kConflict);
    EXPECT_THAT(outcome.error().detail, HasSubstr("replaced"));
}

TEST_F(WorkerRuntimeTest, LargePayloadsAndResultsGoBothWays) {
    const std::string large = '"' + std::string(300'000, 'z') + '"';
    On("echo", [](TaskContext& context) { return TaskResult::Success(context.payload()); });
    Start();
    const ExecutionId id = stack_->Submit({.type = "echo", .payload = large});
    EXPECT_EQ(AwaitEnd(id, EventType::kTaskCompleted).outcome->data, large);
}

TEST_F(WorkerRuntimeTest, AResultThatIsTooLargeFailsWithAReason) {
    On("huge", [](TaskContext&) { return TaskResult::Success(std::string(2 << 20, '1')); });
    Start();
    const ExecutionId id = stack_->Submit({.type = "huge", .retries_max = 3});
    const Execution row = AwaitEnd(id, EventType::kTaskFailed);
    EXPECT_EQ(row.attempt, 1u);
    EXPECT_THAT(row.outcome->message.str(), HasSubstr("more than the limit"));
}

// A stack trace, an HTML page, a whole log: handlers put anything into a message. The scheduler
// refuses frames of more than 4 MiB.
TEST_F(WorkerRuntimeTest, AMessageOfAnySizeIsCutAndArrives) {
    On("loud", [](TaskContext&) {
        return TaskResult::FinalFailure("because " + std::string(5 << 20, 'x'));
    });
    Start();
    const Execution row = AwaitEnd(stack_->Submit({.type = "loud"}), EventType::kTaskFailed);
    EXPECT_THAT(row.outcome->message.str(), HasSubstr("because xxx"));
    EXPECT_EQ(worker_->status().reconnects, 0u);
}

TEST_F(WorkerRuntimeTest, ManyTasksRunAtOnceAndNoneIsLost) {
    std::atomic<int> calls = 0;
    On("noop", [&](TaskContext&) {
        ++calls;
        return TaskResult::Success();
    });
    WorkerOptions options = Quick();
    options.capacity = 16;
    options.buffer_size = 4;  // Also with results waiting to be acknowledged.
    Start(options);
    constexpr int kCount = 500;
    for (int i = 0; i < kCount; ++i) stack_->Submit({});
    EXPECT_TRUE(stack_->watcher.AwaitEvents(EventType::kTaskCompleted, kCount));
    EXPECT_EQ(calls, kCount);
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
                HasSubstr("takt_worker_attached 1"));
    stack_->Stop();
    ASSERT_TRUE(AwaitEvents(WorkerEvent::kDisconnected));
    EXPECT_EQ((*client)->Send({.url = base + "/readyz"})->status, 503);
}

TEST_F(WorkerRuntimeTest, OptionsThatCannotWorkAreRefused) {
    On("noop", [](TaskContext&) { return TaskResult::Success(); });
    const auto field = [&](WorkerOptions options) {
        auto worker = WorkerRuntime::Create(std::move(options), executors_);
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
    ExecutorRegistry empty;
    EXPECT_EQ(WorkerRuntime::Create({.servers = {"http://a"}}, empty).error().field, "executors");
}

}  // namespace
}  // namespace takt::internal
