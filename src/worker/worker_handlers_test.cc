// Handlers, and what becomes of their work: results, failures, timeouts, cancels, sizes.
#include <gmock/gmock.h>

#include "worker/runtime_test_support.h"

namespace takt::internal {
namespace {

using testing::HasSubstr;
using namespace testing_support;

// The README's promise: a function, a submit, a result.
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

// A handler that obeys: it ends when its time is over, and says so.
TEST_F(WorkerRuntimeTest, AHandlerIsAskedToStopAtItsTimeout) {
    On("slow", [](TaskContext& context) {
        EXPECT_EQ(AwaitStop(context), StopReason::kTimeout);
        return TaskResult::Failure("stopped in time");
    });
    Start();
    const ExecutionId id = stack_->Submit({.type = "slow", .timeout = 30ms});
    const Execution row = AwaitEnd(id, EventType::kTaskFailed);
    EXPECT_EQ(row.outcome->reason, Reason::kTimeout);
    EXPECT_EQ(row.outcome->message, "took longer than its timeout of 30ms");
}

// A handler that hangs: its thread is lost, its slot is not.
TEST_F(WorkerRuntimeTest, AHandlerThatDoesNotStopIsAbandonedAndItsPlaceUsedAgain) {
    const auto handler = OnStuck("stuck");
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
    // The value that it returns in the end is nobody's business any more.
    handler->gate.Open();
    EXPECT_TRUE(handler->ended.Await());
    const ExecutionId last = stack_->Submit({.type = "noop"});
    AwaitEnd(last, EventType::kTaskCompleted);
    EXPECT_EQ(stack_->Read(stuck).status, Status::kFailed);
    EXPECT_EQ(worker_->status().succeeded, 2u);
}

// Blocking user code, even in a stop callback, must not silence the worker.
TEST_F(WorkerRuntimeTest, HeartbeatsGoOnWhileHandlersAndTheirStopCallbacksBlock) {
    Begin({.link = {.heartbeat = Duration(20)}, .engine = {.worker_lease = Duration(400)}});
    const auto gate = std::make_shared<Latch>();
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
        EXPECT_EQ(AwaitStop(context), StopReason::kCancelled);
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

}  // namespace
}  // namespace takt::internal
