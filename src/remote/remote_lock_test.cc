// A lock that is held over the network, when that fails.
#include "remote/remote_lock.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>
#include <utility>

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

// The network swallows what is sent: a renewal is waited for as long as a call may take, which is
// longer than the lease. Somebody else has the lock by then.
TEST(RemoteLockTest, ALockIsLostWithItsLeaseWhileARenewalIsNotAnswered) {
    std::promise<void> answer;
    const std::shared_future<void> answered = answer.get_future().share();
    const LockWay way{
        .post = [answered](const std::string& path, const std::string&) -> Result<std::string> {
            if (path.ends_with("/acquire")) {
                return R"({"lock_id": "l1", "token": 7})";
            }
            answered.wait();
            return Fail(ErrorCode::kUnknown, "no answer in time");
        },
        .pause = [](Duration) { return true; }};
    const auto lock = RemoteLock::Acquire(way, {.name = "ledger", .ttl = 300ms});
    ASSERT_TRUE(lock) << lock.error().detail;
    std::promise<void> lost;
    const std::stop_callback on_lost((*lock)->over(), [&] { lost.set_value(); });

    EXPECT_EQ(lost.get_future().wait_for(10s), std::future_status::ready);
    answer.set_value();
}

// A laptop is closed for some minutes. Somebody else has the lock when it is opened again, and its
// threads have not waited a moment longer.
TEST(RemoteLockTest, ALockIsLostWhenTheMachineWasSuspendedForLongerThanItsLease) {
    // Each thread of the lock looks at the clock before it, and after.
    const auto now = [own = std::this_thread::get_id()] {
        static thread_local bool slept = false;
        const bool before = std::this_thread::get_id() == own || !std::exchange(slept, true);
        return SteadyClock::now() + (before ? 0min : 11min);
    };
    const LockWay way{
        .post = [](const std::string& path, const std::string&) -> Result<std::string> {
            if (path.ends_with("/acquire")) return R"({"lock_id": "l1", "token": 7})";
            return Fail(ErrorCode::kUnknown, "the network is not back yet");
        },
        .pause = [](Duration) { return true; },
        .now = now};
    const auto lock = RemoteLock::Acquire(way, {.name = "ledger", .ttl = 10min});
    ASSERT_TRUE(lock) << lock.error().detail;
    std::promise<void> lost;
    const std::stop_callback on_lost((*lock)->over(), [&] { lost.set_value(); });

    EXPECT_EQ(lost.get_future().wait_for(20s), std::future_status::ready);
}

// Told of the loss, a program puts an end to all that it does with the lock, and so to the lock.
TEST(RemoteLockTest, ALockMayBeLetGoWhereItsLossIsTold) {
    const LockWay way{
        .post = [](const std::string& path, const std::string&) -> Result<std::string> {
            if (path.ends_with("/acquire")) return R"({"lock_id": "l1", "token": 7})";
            return Fail(ErrorCode::kConflict, "it is another's");
        },
        .pause = [](Duration) { return true; }};
    auto lock = RemoteLock::Acquire(way, {.name = "ledger", .ttl = 300ms});
    ASSERT_TRUE(lock) << lock.error().detail;
    std::promise<void> gone;
    const std::stop_token over = (*lock)->over();
    const std::stop_callback on_lost(over, [&] {
        lock->reset();
        gone.set_value();
    });

    EXPECT_EQ(gone.get_future().wait_for(10s), std::future_status::ready);
}

}  // namespace
}  // namespace takt::internal
