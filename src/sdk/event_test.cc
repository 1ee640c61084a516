// Event callbacks of an embedded scheduler.
#include <atomic>

#include "tests/sdk/sdk_testing.h"

namespace takt::testing_support {
namespace {

class EventTest : public SdkTest {
  protected:
    void RunOne(const std::string& type) {
        const auto task = scheduler_->SubmitTask({.type = type, .retry = {.max_retries = 0}});
        ASSERT_TRUE(task) << task.error().message;
        ASSERT_TRUE(scheduler_->WaitForTask(task->id, kPatience));
    }
};

// Somebody wants to see everything that the first design promised to tell.
TEST_F(EventTest, AllTenKindsOfEventsAreTold) {
    EventLog log;
    SchedulerOptions options = TestOptions();
    options.settings = {{"executors.health_check", "false"},
                        {"executors.health_interval", "1s"},
                        {"executors.failure_threshold", "1"}};
    scheduler_ = std::make_unique<Scheduler>(options);
    const StopAtEnd stop{*scheduler_};
    scheduler_->RegisterEventCallback(log.Callback());
    ASSERT_TRUE(scheduler_->Start());
    auto worker = MakeWorker("w");
    worker->Handle("good", [&](TaskContext&) {
        EXPECT_TRUE(log.WaitFor(EventType::kTaskStarted));
        return TaskResult::Success();
    });
    worker->Handle("bad", [](TaskContext&) { return TaskResult::Failure("no"); });
    Join(*worker);

    RunOne("good");
    RunOne("bad");
    const auto waiting = scheduler_->SubmitTask({.type = "nobody"});
    ASSERT_TRUE(scheduler_->CancelTask(waiting->id));
    // One that is called over HTTP and sends no heartbeats is soon missed; it comes back and
    // leaves.
    const WorkerRegistration silent{.id = "h", .address = "http://127.0.0.1:9"};
    ASSERT_TRUE(scheduler_->RegisterWorker(silent));
    ASSERT_TRUE(log.WaitFor(EventType::kWorkerOffline));
    ASSERT_TRUE(scheduler_->RegisterWorker(silent));
    ASSERT_TRUE(scheduler_->UnregisterWorker("h"));

    for (const EventType type :
         {EventType::kTaskSubmitted, EventType::kTaskScheduled, EventType::kTaskStarted,
          EventType::kTaskCompleted, EventType::kTaskFailed, EventType::kTaskCancelled,
          EventType::kWorkerJoined, EventType::kWorkerLeft, EventType::kWorkerOnline,
          EventType::kWorkerOffline}) {
        EXPECT_TRUE(log.WaitFor(type)) << Name(type);
    }
    std::uint64_t last = 0;
    for (const Event& event : log.events()) {
        EXPECT_GT(event.serial, last);
        last = event.serial;
        if (event.type == EventType::kTaskCompleted) {
            EXPECT_EQ(event.worker_id, "w");
            EXPECT_FALSE(event.task_id.empty());
            EXPECT_EQ(event.attempt, 1u);
        }
    }
}

// A callback that writes to a slow disk must not slow the scheduler down.
TEST_F(EventTest, BlockedCallbackLosesTheOldestEventsAndNothingElse) {
    SchedulerOptions options = TestOptions();
    options.event_queue_size = 3;
    Start(options);
    Signal go;
    Signal blocked;
    std::atomic<int> told = 0;
    const StopAtEnd stop{*scheduler_};
    scheduler_->RegisterEventCallback(EventType::kTaskSubmitted, [&](const Event&) {
        ++told;
        blocked.Set();
        EXPECT_TRUE(go.Wait());
    });
    ASSERT_TRUE(scheduler_->SubmitTask({.type = "t"}));
    ASSERT_TRUE(blocked.Wait());

    for (int i = 0; i < 10; ++i) ASSERT_TRUE(scheduler_->SubmitTask({.type = "t"}));

    // The answer to a call may be a moment ahead of the event that tells of it.
    EXPECT_TRUE(Eventually([&] { return scheduler_->events_dropped() == 7; }));
    go.Set();
    EXPECT_TRUE(Eventually([&] { return told == 4; }));
}

TEST_F(EventTest, CallbackThatThrowsHarmsNobody) {
    Start();
    EventLog log;
    const StopAtEnd stop{*scheduler_};
    scheduler_->RegisterEventCallback([](const Event&) { throw std::runtime_error("oops"); });
    scheduler_->RegisterEventCallback([](const Event&) { throw 7; });
    scheduler_->RegisterEventCallback(log.Callback());

    ASSERT_TRUE(scheduler_->SubmitTask({.type = "t"}));

    EXPECT_TRUE(log.WaitFor(EventType::kTaskSubmitted));
}

TEST_F(EventTest, UnregisteredCallbackIsNotCalledAnyMore) {
    Start();
    EventLog log;
    EventLog gone;
    const StopAtEnd stop{*scheduler_};
    const auto number = scheduler_->RegisterEventCallback(gone.Callback());
    scheduler_->RegisterEventCallback(log.Callback());
    scheduler_->UnregisterEventCallback(number);

    ASSERT_TRUE(scheduler_->SubmitTask({.type = "t"}));

    ASSERT_TRUE(log.WaitFor(EventType::kTaskSubmitted));
    EXPECT_TRUE(gone.events().empty());
}

// "When the last one is through, that's it."
TEST_F(EventTest, CallbackMayAskAndEvenStopTheScheduler) {
    Start();
    Signal stopped;
    const StopAtEnd stop{*scheduler_};
    scheduler_->RegisterEventCallback(EventType::kTaskCancelled, [&](const Event& event) {
        EXPECT_TRUE(scheduler_->GetExecution(event.execution_id));
        scheduler_->Stop();
        stopped.Set();
    });
    const auto task = scheduler_->SubmitTask({.type = "t"});
    ASSERT_TRUE(scheduler_->CancelTask(task->id));

    ASSERT_TRUE(stopped.Wait());
    EXPECT_FALSE(scheduler_->running());
}

// A callback hangs for good. The program must still be able to end.
TEST_F(EventTest, StopDoesNotWaitForACallbackThatHangs) {
    auto blocked = std::make_shared<Signal>();
    auto never = std::make_shared<Signal>();
    Start();
    scheduler_->RegisterEventCallback(EventType::kTaskSubmitted, [=](const Event&) {
        blocked->Set();
        never->Wait(std::chrono::minutes(5));
    });
    ASSERT_TRUE(scheduler_->SubmitTask({.type = "t"}));
    ASSERT_TRUE(blocked->Wait());

    const auto begun = std::chrono::steady_clock::now();
    scheduler_->Stop();

    EXPECT_LT(std::chrono::steady_clock::now() - begun, kPatience);
    never->Set();
}

}  // namespace
}  // namespace takt::testing_support
