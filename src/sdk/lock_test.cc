// Locks from C++: guards that renew themselves, locks of tasks and of their handlers.
#include <gmock/gmock.h>

#include <atomic>

#include "tests/sdk/sdk_testing.h"

namespace takt::testing_support {
namespace {

using ::testing::HasSubstr;

using LockTest = SdkTest;

// Two programs do the same thing once a night.
TEST_F(LockTest, AGuardHoldsTheLockUntilItGoes) {
    Start();
    std::uint64_t first = 0;
    {
        const auto lock = scheduler_->Lock("ledger", {.ttl = 1s, .owner = "a"});
        ASSERT_TRUE(lock) << lock.error().message;
        first = lock->token();
        const auto other = scheduler_->Lock("ledger");
        ASSERT_FALSE(other);
        EXPECT_EQ(other.error().code, ErrorCode::kConflict);
        // Longer than its ttl: it renews itself.
        const auto late = scheduler_->Lock("ledger", {.wait = 1500ms});
        EXPECT_FALSE(late);
        EXPECT_TRUE(lock->held());
    }
    auto next = scheduler_->Lock("ledger", {.wait = kPatience});
    ASSERT_TRUE(next) << next.error().message;
    EXPECT_GT(next->token(), first);
    EXPECT_TRUE(next->Release());
    EXPECT_FALSE(next->held());
    EXPECT_TRUE(scheduler_->Lock("ledger"));
}

// The same over the network, by the class for other processes.
TEST_F(LockTest, AClientOverTheNetworkHoldsLocksToo) {
    Start();
    Client client({.servers = {scheduler_->url()}});
    const auto lock = client.Lock("ledger", {.ttl = 1s});
    ASSERT_TRUE(lock) << lock.error().message;
    EXPECT_FALSE(client.Lock("ledger"));
    const auto bad = client.Lock("ledger", {.permits = 7});
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().code, ErrorCode::kInvalid);
}

// Nobody answers any more: the guard says so before somebody else may have the lock.
TEST_F(LockTest, AGuardWithoutASchedulerIsLost) {
    Start();
    Client client({.servers = {scheduler_->url()}, .timeout = 200ms});
    auto lock = client.Lock("ledger", {.ttl = 1s});
    ASSERT_TRUE(lock) << lock.error().message;
    Signal lost;
    const std::stop_callback on_lost(lock->stop_token(), [&] { lost.Set(); });
    scheduler_->Stop();

    EXPECT_TRUE(lost.Wait());
    EXPECT_FALSE(lock->held());
}

TEST_F(LockTest, AHandlerIsGivenTheTokensThatItsTaskDeclares) {
    Start();
    std::atomic<std::uint64_t> token = 0;
    auto worker = MakeWorker("w");
    worker->Handle("t", [&](TaskContext& task) {
        token = task.lock_token("ledger");
        EXPECT_EQ(task.lock_token("other"), 0u);
        return scheduler_->Lock("ledger") ? TaskResult::FinalFailure("it is free")
                                          : TaskResult::Success();
    });
    Join(*worker);
    const auto task = scheduler_->SubmitTask({.type = "t", .locks = {{.name = "ledger"}}});
    ASSERT_TRUE(task) << task.error().message;
    ASSERT_EQ(task->locks.size(), 1u);
    EXPECT_EQ(task->locks[0].name, "ledger");

    EXPECT_EQ(scheduler_->WaitForTask(task->id, kPatience)->status, Status::kSuccess);
    EXPECT_GT(token, 0u);
    EXPECT_GT(scheduler_->Lock("ledger", {.wait = kPatience})->token(), token);
}

TEST_F(LockTest, AHandlerAsksForALockThatEndsWithItsAttempt) {
    Start();
    Signal asked;
    Signal go_on;
    auto worker = MakeWorker("w");
    worker->Handle("t", [&](TaskContext& task) {
        const auto early = task.Lock("held", {.wait = 0s});
        EXPECT_FALSE(early);
        {
            const auto brief = task.Lock("brief");
            EXPECT_TRUE(brief);
        }
        const auto lock = task.Lock("ledger");
        if (!lock) return TaskResult::FinalFailure(lock.error().message);
        EXPECT_GT(lock->token(), 0u);
        asked.Set();
        go_on.Wait();
        return TaskResult::Success();
    });
    Join(*worker);
    const auto held = scheduler_->Lock("held");
    const auto task = scheduler_->SubmitTask({.type = "t"});
    ASSERT_TRUE(asked.Wait());
    EXPECT_FALSE(scheduler_->Lock("ledger"));
    // Let go by its guard, while the handler goes on.
    EXPECT_TRUE(scheduler_->Lock("brief", {.wait = kPatience}));
    go_on.Set();

    EXPECT_EQ(scheduler_->WaitForTask(task->id, kPatience)->status, Status::kSuccess);
    EXPECT_TRUE(scheduler_->Lock("ledger", {.wait = kPatience}));
}

}  // namespace
}  // namespace takt::testing_support
