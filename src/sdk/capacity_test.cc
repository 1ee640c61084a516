// A worker whose capacity changes while it runs: by itself, and by an operator.
#include <atomic>

#include "tests/sdk/sdk_testing.h"

namespace takt::testing_support {
namespace {

class CapacityTest : public SdkTest {
  protected:
    void StartWithWorker(std::uint32_t capacity) {
        Start();
        worker_ = MakeWorker("w", capacity);
        worker_->Handle("held", [this](TaskContext& task) {
            ++running_;
            while (!released_.Wait(5ms) && !task.stop_token().stop_requested()) {
            }
            --running_;
            return TaskResult::Success();
        });
        Join(*worker_);
        for (int i = 0; i < 6; ++i) {
            const auto task = scheduler_->SubmitTask({.type = "held"});
            ASSERT_TRUE(task);
            ids_.push_back(task->id);
        }
    }
    bool AwaitRunning(int count) {
        return Eventually([&] { return running_ == count; });
    }

    std::atomic<int> running_ = 0;
    Signal released_;
    std::vector<std::string> ids_;
    std::unique_ptr<Worker> worker_;
};

// As many run at once as was said, on threads that were not there before.
TEST_F(CapacityTest, MoreRunAtOnceWhenItIsRaised) {
    StartWithWorker(1);
    EXPECT_TRUE(AwaitRunning(1));
    const auto set = scheduler_->SetWorkerCapacity("w", 3);
    ASSERT_TRUE(set) << set.error().message;
    EXPECT_EQ(set->capacity, 3u);
    EXPECT_EQ(set->capacity_own, 1u);
    EXPECT_EQ(set->capacity_set, 3u);
    EXPECT_TRUE(AwaitRunning(3));
    EXPECT_TRUE(Eventually([&] { return worker_->status().capacity == 3; }));

    ASSERT_TRUE(worker_->SetCapacity(5));
    EXPECT_TRUE(Eventually([&] { return scheduler_->GetWorker("w")->capacity_own == 5; }));
    EXPECT_EQ(running_, 3) << "an operator's word goes before";
    ASSERT_TRUE(scheduler_->SetWorkerCapacity("w", std::nullopt));
    EXPECT_TRUE(AwaitRunning(5));
    released_.Set();
    for (const auto& run : scheduler_->WaitForAll(ids_, kPatience)) {
        EXPECT_TRUE(run && run->status == Status::kSuccess);
    }
}

TEST_F(CapacityTest, WhatRunsGoesOnWhenItIsLowered) {
    StartWithWorker(4);
    EXPECT_TRUE(AwaitRunning(4));
    ASSERT_TRUE(worker_->SetCapacity(1));
    EXPECT_TRUE(Eventually([&] { return scheduler_->GetWorker("w")->capacity == 1; }));
    EXPECT_EQ(running_, 4);
    released_.Set();
    for (const auto& run : scheduler_->WaitForAll(ids_, kPatience)) {
        EXPECT_TRUE(run && run->status == Status::kSuccess && run->attempt == 1);
    }
}

TEST_F(CapacityTest, WhatIsNoneIsRefused) {
    Start();
    auto worker = MakeWorker("w");
    EXPECT_EQ(worker->SetCapacity(3).error().code, ErrorCode::kConflict) << "it was not started";
    worker->Handle("x", [](TaskContext&) { return TaskResult::Success(); });
    Join(*worker);
    EXPECT_EQ(worker->SetCapacity(0).error().field, "capacity");
    EXPECT_EQ(worker->SetCapacity(100'001).error().code, ErrorCode::kInvalid);
    EXPECT_EQ(scheduler_->SetWorkerCapacity("w", 0).error().field, "capacity");
    EXPECT_EQ(scheduler_->SetWorkerCapacity("nobody", 1).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace takt::testing_support
