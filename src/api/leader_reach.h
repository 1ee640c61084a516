// LeaderReach: whether the calls that a follower passes on reach the leader.
//
// Learned from the calls themselves. Said in the log when it changes, and once a minute at most while
// it lasts, however many callers are refused. From any thread.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/log.h"
#include "base/time.h"

namespace takt::internal {

class LeaderReach {
  public:
    void NoteAnswer(std::string_view address) {
        const std::scoped_lock lock(mutex_);
        if (trouble_.empty() || address_ != address) return;
        trouble_.clear();
        Log(LogLevel::kInfo, "api", "the leader can be reached again", {{"address", address_}});
    }

    void NoteFailure(std::string_view address, const Error& error, Steady now) {
        if (error.code == ErrorCode::kCancelled) return;
        const std::scoped_lock lock(mutex_);
        const bool known = !trouble_.empty() && address_ == address;
        address_ = address;
        trouble_ = error.detail;
        failed_at_ = now;
        if (known && now - said_at_ < kSaidEvery) return;
        said_at_ = now;
        Log(LogLevel::kError, "api",
            "the leader cannot be reached: changes that are sent here are refused",
            {{"address", address_}, {"error", error.detail}});
    }

    // Why the last call did not reach that leader; empty: it did, or that was long ago.
    std::string TroubleWith(std::string_view address, Steady now) const {
        const std::scoped_lock lock(mutex_);
        return address == address_ && now - failed_at_ < kRemembered ? trouble_ : std::string();
    }

  private:
    static constexpr auto kSaidEvery = std::chrono::minutes(1);
    // Nobody may have sent anything since that would have shown that it is over.
    static constexpr auto kRemembered = std::chrono::minutes(5);

    mutable std::mutex mutex_;
    std::string address_;
    std::string trouble_;
    Steady failed_at_{};
    Steady said_at_{};
};

}  // namespace takt::internal
