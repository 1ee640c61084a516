// Workers: handlers that misbehave, executors, draining.
#include <gmock/gmock.h>

#include <stdexcept>
#include <thread>

#include "tests/sdk/sdk_testing.h"
#include "worker/options.h"

namespace takt::testing_support {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

using WorkerTest = SdkTest;

// A worker is moved from `takt worker` into a program of its own: nothing changes but its handlers.
TEST(WorkerOptionsTest, DefaultsAreThoseOfTheCommandLine) {
    const WorkerOptions options;
    const internal::WorkerOptions inner;
    EXPECT_EQ(options.max_concurrency, inner.capacity);
    EXPECT_EQ(options.weight, inner.weight);
    EXPECT_EQ(options.heartbeat_interval, inner.heartbeat);
    EXPECT_EQ(options.worker_ttl, inner.lease);
    EXPECT_EQ(options.task_timeout, inner.task_timeout);
    EXPECT_EQ(options.idle_timeout, inner.idle_timeout);
    EXPECT_EQ(options.stop_grace, inner.stop_grace);
    EXPECT_EQ(options.drain_timeout, inner.drain_timeout);
    EXPECT_EQ(options.buffer_size, inner.buffer_size);
    EXPECT_EQ(options.enable_compression, inner.compression);
}

// Somebody's library throws something strange. The attempt fails with its text, the worker goes on.
TEST_F(WorkerTest, HandlerThatThrowsFailsItsAttemptOnly) {
    Start();
    auto worker = MakeWorker("w");
    worker->Handle("throw", [](TaskContext&) -> TaskResult { throw std::runtime_error("boom"); });
    worker->Handle("odd", [](TaskContext&) -> TaskResult { throw 42; });
    worker->Handle("good", [](TaskContext&) { return TaskResult::Success(); });
    Join(*worker);
    for (const std::string type : {"throw", "odd"}) {
        const auto task = scheduler_->SubmitTask({.type = type, .retry = {.max_retries = 0}});
        const auto run = scheduler_->WaitForTask(task->id, kPatience);
        ASSERT_TRUE(run);
        EXPECT_EQ(run->status, Status::kFailed);
        if (type == "throw") EXPECT_THAT(run->error->message, HasSubstr("boom"));
    }

    const auto task = scheduler_->SubmitTask({.type = "good"});

    EXPECT_EQ(scheduler_->WaitForTask(task->id, kPatience)->status, Status::kSuccess);
}

// A handler waits for a database that never answers and does not look at its stop token.
TEST_F(WorkerTest, HandlerThatBlocksIsAbandonedAfterItsTimeout) {
    Start();
    auto release = std::make_shared<Signal>();
    auto worker = MakeWorker("w", 1);
    worker->Handle("block", [release](TaskContext&) {
        release->Wait(std::chrono::minutes(5));
        return TaskResult::Success();
    });
    worker->Handle("good", [](TaskContext&) { return TaskResult::Success(); });
    Join(*worker);
    const auto blocked =
        scheduler_->SubmitTask({.type = "block", .retry = {.max_retries = 0}, .timeout = 50ms});

    const auto run = scheduler_->WaitForTask(blocked->id, kPatience);

    ASSERT_TRUE(run);
    EXPECT_EQ(run->status, Status::kFailed);
    EXPECT_EQ(run->error->code, "timeout");
    EXPECT_EQ(worker->status().abandoned, 1u);
    const auto next = scheduler_->SubmitTask({.type = "good"});
    EXPECT_EQ(scheduler_->WaitForTask(next->id, kPatience)->status, Status::kSuccess);
    release->Set();
}

class Recorder final : public TaskProcessor {
  public:
    TaskResult Process(TaskContext& task) override {
        return TaskResult::Success("\"" + task.type() + "\"");
    }
};

class Doubler final : public Executor {
  public:
    TaskResult Execute(TaskContext& task) override {
        return TaskResult::Success(std::to_string(2 * std::stoi(task.payload())));
    }
    std::string_view Type() const override { return "double"; }
    std::string_view Protocol() const override { return "arithmetic"; }
};

// A processor takes everything, an executor its own type, a shell command runs as a process.
TEST_F(WorkerTest, ProcessorExecutorAndShellRunSideBySide) {
    Start();
    auto worker = MakeWorker("w");
    worker->SetTaskProcessor(std::make_shared<Recorder>());
    worker->AddExecutor(std::make_shared<Doubler>());
    worker->AddExecutor(MakeShellExecutor({.allow_shell = true}).value());
    Join(*worker);
    const auto result_of = [&](const Task& task) {
        const auto submitted = scheduler_->SubmitTask(task);
        const auto run = scheduler_->WaitForTask(submitted->id, kPatience);
        return run && run->status == Status::kSuccess ? run->result : std::string("failed");
    };

    EXPECT_EQ(result_of({.type = "anything"}), "\"anything\"");
    EXPECT_EQ(result_of({.type = "double", .payload = "21"}), "42");
    EXPECT_NE(result_of({.type = "shell", .payload = R"({"argv": ["true"]})"}), "failed");
    EXPECT_EQ(
        result_of(
            {.type = "shell", .payload = R"({"argv": ["false"]})", .retry = {.max_retries = 0}}),
        "failed");
}

TEST_F(WorkerTest, RegistryFindsTheExecutorOfATypeOrTheOneForAll) {
    ExecutorRegistry registry;
    EXPECT_EQ(registry.Find("double"), nullptr);
    ASSERT_TRUE(registry.Add(std::make_shared<Doubler>()));
    EXPECT_EQ(registry.Find("double")->Protocol(), "arithmetic");
    EXPECT_EQ(registry.Find("other"), nullptr);
    ASSERT_TRUE(registry.Add("*", [](TaskContext&) { return TaskResult::Success(); }));
    EXPECT_EQ(registry.Find("other")->Protocol(), "local");
    EXPECT_EQ(registry.Add(std::make_shared<Doubler>()).error().code, ErrorCode::kConflict);
    EXPECT_EQ(registry.Add(nullptr).error().code, ErrorCode::kInvalid);
    EXPECT_EQ(registry.Add("empty", TaskFunction()).error().code, ErrorCode::kInvalid);
    EXPECT_EQ(registry.All().size(), 2u);
    EXPECT_EQ(MakeShellExecutor({}).error().code, ErrorCode::kInvalid);
    EXPECT_EQ(MakeHttpExecutor({.type = "h", .url = "no url"}).error().code, ErrorCode::kInvalid);
}

// Deployments stop workers all day: what runs is finished, nothing new is taken.
TEST_F(WorkerTest, StoppingWorkerFinishesWhatItRuns) {
    Start();
    Signal begun;
    Signal finish;
    auto worker = MakeWorker("w", 1);
    worker->Handle("work", [&](TaskContext&) {
        begun.Set();
        EXPECT_TRUE(finish.Wait());
        return TaskResult::Success();
    });
    Join(*worker);
    const auto task = scheduler_->SubmitTask({.type = "work"});
    ASSERT_TRUE(begun.Wait());

    worker->Drain();
    worker->Drain();
    ASSERT_TRUE(Eventually([&] { return worker->status().draining; }));
    const auto late = scheduler_->SubmitTask({.type = "work"});
    finish.Set();
    worker->Stop();
    worker->Stop();

    EXPECT_TRUE(worker->Wait());
    EXPECT_EQ(scheduler_->WaitForTask(task->id, kPatience)->status, Status::kSuccess);
    EXPECT_EQ(scheduler_->GetExecution(late->id)->status, Status::kPending);
}

// The second Ctrl-C.
TEST_F(WorkerTest, SecondStopHurries) {
    Start();
    Signal begun;
    auto worker = MakeWorker("w");
    worker->Handle("work", [&](TaskContext& task) {
        Signal stop;
        const std::stop_callback wake(task.stop_token(), [&] { stop.Set(); });
        begun.Set();
        EXPECT_TRUE(stop.Wait());
        EXPECT_EQ(task.stop_reason(), StopReason::kShutdown);
        return TaskResult::Failure("stopped");
    });
    Join(*worker);
    ASSERT_TRUE(scheduler_->SubmitTask({.type = "work"}));
    ASSERT_TRUE(begun.Wait());

    std::jthread first([&] { worker->Stop(); });
    ASSERT_TRUE(Eventually([&] { return worker->status().draining; }));
    worker->Stop();
}

TEST_F(WorkerTest, MistakesAreToldAtTheStart) {
    const auto good = [](TaskContext&) { return TaskResult::Success(); };
    const auto mistake_of = [&](WorkerOptions options, int handlers) {
        Worker worker(std::move(options));
        for (int i = 0; i < handlers; ++i) worker.Handle("t", good);
        const auto started = worker.Start();
        EXPECT_FALSE(started);
        return started ? Error{} : started.error();
    };
    EXPECT_THAT(mistake_of({}, 0).message, HasSubstr("nothing to run tasks with"));
    EXPECT_EQ(mistake_of({}, 2).code, ErrorCode::kConflict);
    EXPECT_EQ(mistake_of({.max_concurrency = 0}, 1).field, "max_concurrency");
    EXPECT_EQ(mistake_of({.max_concurrency = 1u << 31}, 1).field, "max_concurrency");
    EXPECT_EQ(mistake_of({.servers = {"no url"}}, 1).code, ErrorCode::kInvalid);
    EXPECT_EQ(mistake_of({.servers = {"http://127.0.0.1:1"}, .store_url = "redis://x"}, 1).field,
              "store_url");
    EXPECT_EQ(mistake_of({.store_url = "file:./x"}, 1).code, ErrorCode::kInvalid);
    EXPECT_EQ(mistake_of({.id = "not an id"}, 1).field, "id");
    EXPECT_EQ(mistake_of({.types = {"t", "other"}}, 1).field, "types");
}

TEST_F(WorkerTest, WorkerIsStartedOnceAndMayWaitForItsScheduler) {
    Worker worker({.servers = {"http://127.0.0.1:9"}, .health_listen = "127.0.0.1:0"});
    worker.Stop();
    EXPECT_EQ(worker.Wait().error().code, ErrorCode::kConflict);
    worker.Handle("t", [](TaskContext&) { return TaskResult::Success(); });
    ASSERT_TRUE(worker.Start());
    EXPECT_EQ(worker.Start().error().code, ErrorCode::kConflict);
    EXPECT_GT(worker.status().health_port, 0);
    EXPECT_FALSE(worker.status().attached);
    EXPECT_FALSE(worker.status().id.empty());
    worker.Stop();
    EXPECT_TRUE(worker.Wait());
}

// A worker's word on itself is what the scheduler shows.
TEST_F(WorkerTest, SchedulerKnowsTheWorkerAsItIntroducedItself) {
    Start();
    Worker worker({.servers = {scheduler_->url()},
                   .id = "gpu-1",
                   .name = "the big one",
                   .queues = {"images"},
                   .labels = {{"gpu", "yes"}},
                   .group = "render",
                   .max_concurrency = 7,
                   .weight = 3});
    worker.Handle("render", [](TaskContext&) { return TaskResult::Success(); });
    worker.Handle("resize", [](TaskContext&) { return TaskResult::Success(); });
    Join(worker);

    const auto record = scheduler_->GetWorker("gpu-1");

    ASSERT_TRUE(record);
    EXPECT_EQ(record->name, "the big one");
    EXPECT_EQ(record->link, "stream");
    EXPECT_TRUE(record->connected);
    EXPECT_THAT(record->types, UnorderedElementsAre("render", "resize"));
    EXPECT_EQ(record->queues, std::vector<std::string>{"images"});
    EXPECT_EQ(record->labels.at("gpu"), "yes");
    EXPECT_EQ(record->group, "render");
    EXPECT_EQ(record->capacity, 7u);
    EXPECT_EQ(record->weight, 3u);
    EXPECT_EQ(record->version, kVersion);
    EXPECT_FALSE(record->busy());
    EXPECT_EQ(scheduler_->DrainWorker("gpu-1", "upgrade")->state, WorkerState::kDraining);
    EXPECT_EQ(scheduler_->ResumeWorker("gpu-1")->state, WorkerState::kOnline);
    EXPECT_EQ(scheduler_->ListWorkers()->size(), 1u);
    EXPECT_TRUE(scheduler_->UnregisterWorker("gpu-1"));
    EXPECT_EQ(scheduler_->UnregisterWorker("nobody").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace takt::testing_support
