// The embedded scheduler: its life, its strategies, its numbers; and clients of it.
#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "tests/sdk/sdk_testing.h"

namespace takt::testing_support {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class SchedulerTest : public SdkTest {
  protected:
    // Three workers, and the ids of those that ran `count` tasks one after the other.
    void StartWorkers() {
        for (const char* id : {"a", "b", "c"}) {
            workers_.push_back(MakeWorker(id));
            workers_.back()->Handle("t", [](TaskContext&) { return TaskResult::Success(); });
            Join(*workers_.back());
        }
    }
    std::string Spread(int count) {
        std::string ids;
        for (int i = 0; i < count; ++i) {
            const auto task = scheduler_->SubmitTask({.name = "same", .type = "t"});
            const auto run = scheduler_->WaitForTask(task.value().id, kPatience);
            ids += run.value().worker_id;
        }
        return ids;
    }
    static Error ErrorOfStart(SchedulerOptions options) {
        Scheduler scheduler(std::move(options));
        const auto started = scheduler.Start();
        EXPECT_FALSE(started);
        EXPECT_FALSE(scheduler.running());
        return started ? Error{} : started.error();
    }

    std::vector<std::unique_ptr<Worker>> workers_;
};

TEST_F(SchedulerTest, StartedSchedulerLeadsAndKnowsItself) {
    Start();
    EXPECT_TRUE(scheduler_->running());
    EXPECT_TRUE(scheduler_->IsLeader());
    EXPECT_EQ(scheduler_->GetNodeId(), "test");
    EXPECT_THAT(scheduler_->url(), HasSubstr("http://127.0.0.1:"));

    const auto status = scheduler_->GetStatus();

    ASSERT_TRUE(status);
    EXPECT_EQ(status->node_id, "test");
    EXPECT_EQ(status->role, "leader");
    EXPECT_TRUE(status->is_leader);
    EXPECT_EQ(status->leader_node_id, "test");
    EXPECT_EQ(status->leader_address, scheduler_->url());
    EXPECT_GT(status->epoch, 0u);
    EXPECT_EQ(status->version, kVersion);
    EXPECT_TRUE(status->store_reachable);
    EXPECT_EQ(scheduler_->Start().error().code, ErrorCode::kConflict);
}

// A service is stopped by a signal, by its supervisor and by its own destructor.
TEST_F(SchedulerTest, StopMayBeCalledTwiceAndTheSchedulerStartedAgain) {
    const auto directory =
        std::filesystem::temp_directory_path() / ("takt-sdk-" + std::to_string(::getpid()));
    SchedulerOptions options = TestOptions();
    options.store_url = "file:" + directory.string();
    Start(options);
    ASSERT_TRUE(scheduler_->SubmitTask({.id = "kept", .type = "t"}));
    scheduler_->Stop();
    scheduler_->Stop();
    EXPECT_FALSE(scheduler_->running());
    EXPECT_FALSE(scheduler_->IsLeader());
    EXPECT_EQ(scheduler_->SubmitTask({.type = "t"}).error().code, ErrorCode::kUnavailable);

    const auto again = scheduler_->Start();

    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(scheduler_->GetTask("kept"));
    scheduler_->Stop();
    std::filesystem::remove_all(directory);
}

// A thread waits for a result while the program ends.
TEST_F(SchedulerTest, CallsUnderWayEndWhenTheSchedulerStops) {
    Start();
    const auto task = scheduler_->SubmitTask({.type = "nobody"});
    Signal ended;
    std::jthread waiting([&] {
        const auto run = scheduler_->WaitForTask(task->id, 2 * kPatience);
        EXPECT_FALSE(run);
        ended.Set();
    });

    scheduler_->Stop();

    EXPECT_TRUE(ended.Wait());
}

// Mistakes in the options are told in one sentence, before anything is served.
TEST_F(SchedulerTest, WhatCannotWorkIsToldAtTheStart) {
    const auto with = [](auto change) {
        SchedulerOptions options = TestOptions();
        change(options);
        return ErrorOfStart(options);
    };
    EXPECT_THAT(with([](auto& o) { o.store_url = "oracle://x"; }).message,
                HasSubstr("names no kind of store"));
    EXPECT_THAT(with([](auto& o) { o.store_url = "file:/proc/nowhere"; }).code,
                AnyOf(ErrorCode::kUnavailable, ErrorCode::kInvalid));
    EXPECT_EQ(with([](auto& o) { o.listen = "nonsense"; }).field, "listen");
    EXPECT_EQ(with([](auto& o) { o.node_id = "no id"; }).field, "node_id");
    EXPECT_EQ(with([](auto& o) { o.load_balance_strategy = "best"; }).code, ErrorCode::kInvalid);
    EXPECT_EQ(with([](auto& o) { o.load_balance_strategy = OwnStrategy("mine"); }).field,
              "load_balance_strategy");
    EXPECT_EQ(with([](auto& o) { o.load_balancers[""] = nullptr; }).field, "load_balancers");
    EXPECT_THAT(with([](auto& o) { o.settings = {{"scheduler.leader_tll", "1s"}}; }).message,
                HasSubstr("leader_ttl"));
    EXPECT_EQ(with([](auto& o) {
                  o.heartbeat_interval = 20s;
                  o.worker_ttl = 10s;
              }).code,
              ErrorCode::kInvalid);
    EXPECT_THAT(with([](auto& o) { o.listen = "0.0.0.0:0"; }).message, HasSubstr("token"));
}

TEST_F(SchedulerTest, TakenPortIsToldAtTheStart) {
    Start();
    SchedulerOptions options = TestOptions();
    options.listen = scheduler_->url().substr(7);

    EXPECT_EQ(ErrorOfStart(options).code, ErrorCode::kUnavailable);
}

// --- Strategies ---------------------------------------------------------------------------------

// An operator changes the strategy while tasks run.
TEST_F(SchedulerTest, StrategyIsSwitchedAndResetAtRunTime) {
    Start();
    StartWorkers();
    EXPECT_EQ(*scheduler_->GetLoadBalanceStrategy(), kStrategyLeastTasks);

    ASSERT_TRUE(scheduler_->SetLoadBalanceStrategy(kStrategyRoundRobin));
    EXPECT_EQ(*scheduler_->GetLoadBalanceStrategy(), kStrategyRoundRobin);
    EXPECT_EQ(Spread(4), "abca");
    ASSERT_TRUE(scheduler_->ResetLoadBalancer());
    EXPECT_EQ(Spread(1), "a") << "it has forgotten whose turn it was";
    ASSERT_TRUE(scheduler_->SetLoadBalanceStrategy(kStrategySticky));
    const std::string stuck = Spread(3);
    EXPECT_EQ(stuck, std::string(3, stuck[0]));

    EXPECT_EQ(scheduler_->SetLoadBalanceStrategy("best").error().field, "strategy");
    EXPECT_EQ(scheduler_->SetLoadBalanceStrategy(OwnStrategy("none")).error().code,
              ErrorCode::kInvalid);
}

class Last final : public LoadBalancer {
  public:
    std::size_t Pick(const WorkToPlace& work, std::span<const WorkerChoice> choices) override {
        EXPECT_EQ(work.type, "t");
        EXPECT_EQ(work.task_name, "same");
        EXPECT_GT(choices[0].capacity, choices[0].running);
        return choices.size() - 1;
    }
};

class Broken final : public LoadBalancer {
  public:
    std::size_t Pick(const WorkToPlace&, std::span<const WorkerChoice> choices) override {
        if (++calls_ % 2 == 0) throw std::runtime_error("no idea");
        return choices.size();
    }

  private:
    int calls_ = 0;
};

// Workers differ in price; only the program knows how.
TEST_F(SchedulerTest, BalancerOfTheProgramChoosesAndABrokenOneHarmsNobody) {
    SchedulerOptions options = TestOptions();
    std::atomic<int> made = 0;
    options.load_balancers["last"] = [&] {
        ++made;
        return std::make_unique<Last>();
    };
    options.load_balancers["broken"] = [] { return std::make_unique<Broken>(); };
    options.load_balancers["none"] = []() -> std::unique_ptr<LoadBalancer> {
        throw std::runtime_error("cannot be made");
    };
    options.load_balance_strategy = OwnStrategy("last");
    Start(options);
    StartWorkers();

    EXPECT_EQ(*scheduler_->GetLoadBalanceStrategy(), "custom:last");
    EXPECT_EQ(Spread(3), "ccc");
    EXPECT_EQ(made, 1);
    ASSERT_TRUE(scheduler_->ResetLoadBalancer());
    EXPECT_EQ(Spread(1), "c");
    EXPECT_EQ(made, 2);
    ASSERT_TRUE(scheduler_->SetLoadBalanceStrategy(OwnStrategy("broken")));
    EXPECT_EQ(Spread(2), "aa");
    ASSERT_TRUE(scheduler_->SetLoadBalanceStrategy(OwnStrategy("none")));
    EXPECT_EQ(Spread(1).size(), 1u);
}

// --- Numbers, limits, HTTP workers --------------------------------------------------------------

TEST_F(SchedulerTest, MetricsCountWhatHappened) {
    Start();
    StartWorkers();
    workers_[2]->Stop();
    Spread(3);
    ASSERT_TRUE(scheduler_->SubmitTask({.type = "nobody"}));
    const auto cancelled = scheduler_->SubmitTask({.type = "nobody"});
    ASSERT_TRUE(scheduler_->CancelTask(cancelled->id));

    const auto metrics = scheduler_->GetMetrics();

    ASSERT_TRUE(metrics);
    EXPECT_EQ(metrics->tasks_total, 5u);
    EXPECT_EQ(metrics->tasks_pending, 1u);
    EXPECT_EQ(metrics->tasks_running, 0u);
    EXPECT_EQ(metrics->tasks_completed, 3u);
    EXPECT_EQ(metrics->tasks_failed, 0u);
    EXPECT_EQ(metrics->tasks_cancelled, 1u);
    EXPECT_EQ(metrics->workers_online, 2u);
    EXPECT_GT(metrics->task_throughput, 0);
    EXPECT_GE(metrics->scheduler_uptime, 0s);
    EXPECT_LT(metrics->scheduler_uptime, 2 * kPatience) << "it began a moment ago";
}

TEST_F(SchedulerTest, FullQueueRefusesWithoutLosingAnything) {
    SchedulerOptions options = TestOptions();
    options.task_queue_size = 2;
    Start(options);
    ASSERT_TRUE(scheduler_->SubmitTask({.type = "t"}));
    ASSERT_TRUE(scheduler_->SubmitTask({.type = "t"}));

    EXPECT_EQ(scheduler_->SubmitTask({.type = "t"}).error().code, ErrorCode::kExhausted);
    EXPECT_EQ(scheduler_->ListTasks(Status::kPending)->size(), 2u);
}

// A worker as another kit has it: a process with an HTTP port, announced by whoever knows it.
TEST_F(SchedulerTest, HttpWorkerIsRegisteredSeenAndTakenAway) {
    Start();
    const auto worker = scheduler_->RegisterWorker({.id = "worker-001",
                                                    .address = "http://127.0.0.1:9",
                                                    .types = {"data_processing", "image_resize"},
                                                    .capacity = 10,
                                                    .labels = {{"zone", "a"}}});

    ASSERT_TRUE(worker) << worker.error().message;
    EXPECT_EQ(worker->link, "push");
    EXPECT_EQ(worker->types.size(), 2u);
    EXPECT_EQ(worker->capacity, 10u);
    EXPECT_EQ(worker->labels.at("zone"), "a");
    EXPECT_EQ(worker->address, "http://127.0.0.1:9");
    EXPECT_TRUE(scheduler_->SendHeartbeat("worker-001"));
    EXPECT_EQ(scheduler_->RegisterWorker({.id = "x", .address = "http://10.0.0.1"}).error().code,
              ErrorCode::kInvalid);
    EXPECT_TRUE(scheduler_->UnregisterWorker("worker-001"));
    EXPECT_EQ(scheduler_->GetWorker("worker-001").error().code, ErrorCode::kNotFound);
}

// --- Clients ------------------------------------------------------------------------------------

TEST_F(SchedulerTest, ClientSaysWhatIsWrongWithItsServers) {
    const auto nobody = Client({.servers = {"http://127.0.0.1:9"}}).GetStatus();
    EXPECT_EQ(nobody.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(nobody.error().message, HasSubstr("127.0.0.1:9"));
    EXPECT_THROW(static_cast<void>(nobody.value()), Failure);
    EXPECT_EQ(Client({.servers = {"nonsense"}}).GetStatus().error().code, ErrorCode::kInvalid);
    EXPECT_EQ(Client({.servers = {}}).GetStatus().error().field, "servers");
    Start();
    // The first is away; the second answers.
    EXPECT_TRUE(Client({.servers = {"http://127.0.0.1:9", scheduler_->url()}}).GetStatus());
}

// A client that is started before its scheduler, as containers are.
TEST_F(SchedulerTest, PatientClientWaitsForItsScheduler) {
    Start();
    SchedulerOptions options = TestOptions();
    options.listen = scheduler_->url().substr(7);
    scheduler_->Stop();
    Client client({.servers = {"http://" + options.listen}, .patience = kPatience});
    std::jthread late([&] { Start(options); });

    EXPECT_TRUE(client.SubmitTask({.type = "t"}));
}

TEST_F(SchedulerTest, ManyThreadsMayAskAtOnce) {
    Start();
    Client client = MakeClient();
    std::atomic<int> good = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                for (int j = 0; j < 10; ++j) {
                    good += scheduler_->SubmitTask({.type = "t"}).has_value();
                    good += client.SubmitTask({.type = "t"}).has_value();
                }
            });
        }
    }
    EXPECT_EQ(good, 80);
    EXPECT_EQ(scheduler_->ListTasks(Status::kPending, 1'000)->size(), 80u);
}

}  // namespace
}  // namespace takt::testing_support
