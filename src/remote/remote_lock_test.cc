// A lock that is held over the network, when that fails.
#include "remote/remote_lock.h"

#include <gtest/gtest.h>

#include <future>

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
