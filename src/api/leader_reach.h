// LeaderReach: whether the calls that a follower passes on reach their leaders.
//
// Learned from the calls themselves. Said in the log when it changes, and once a minute at most while
// it lasts, however many callers are refused. From any thread.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
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
        const auto known = troubles_.find(address);
        if (known == troubles_.end()) return;
        troubles_.erase(known);
        Log(LogLevel::kInfo, "api", "the leader can be reached again", {{"address", address}});
    }

    void NoteFailure(std::string_view address, const Error& error, Steady now) {
        if (error.code == ErrorCode::kCancelled) return;
        const std::scoped_lock lock(mutex_);
        auto found = troubles_.find(address);
        const bool known = found != troubles_.end();
        if (!known) {
            if (troubles_.size() == kAddressesMax) {
                troubles_.erase(std::ranges::min_element(
                    troubles_, {}, [](const auto& entry) { return entry.second.failed_at; }));
            }
            found = troubles_.emplace(address, Trouble{}).first;
        }
        Trouble& trouble = found->second;
        trouble.why = error.detail;
        trouble.failed_at = now;
        if (known && now - trouble.said_at < kSaidEvery) return;
        trouble.said_at = now;
        Log(LogLevel::kError, "api",
            "the leader cannot be reached: changes that are sent here are refused",
            {{"address", address}, {"error", error.detail}});
    }

    // Why the last call did not reach that leader; empty: it did, or that was long ago.
    std::string TroubleWith(std::string_view address, Steady now) const {
        const std::scoped_lock lock(mutex_);
        const auto known = troubles_.find(address);
        if (known == troubles_.end() || now - known->second.failed_at >= kRemembered) return {};
        return known->second.why;
    }

  private:
    static constexpr auto kSaidEvery = std::chrono::minutes(1);
    // Nobody may have sent anything since that would have shown that it is over.
    static constexpr auto kRemembered = std::chrono::minutes(5);

    // Leaders come and go with their addresses; more than there are schedulers.
    static constexpr std::size_t kAddressesMax = 64;

    struct Trouble {
        std::string why;
        Steady failed_at{};
        Steady said_at{};
    };

    mutable std::mutex mutex_;
    std::map<std::string, Trouble, std::less<>> troubles_;  // By address.
};

}  // namespace takt::internal
