// LockCall: a lock that a handler asks for while it runs, and the answer, on its way between the
// handler's thread and the network thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "base/time.h"

namespace takt::internal {

struct LockVerdictSeen {
    std::uint64_t token = 0;  // 0: it was not had.
    std::string why;
};

class LockCall {
  public:
    LockCall(std::uint64_t ask, std::string name, std::uint32_t permits, Duration wait)
        : ask(ask), name(std::move(name)), permits(permits), wait(wait) {}

    const std::uint64_t ask;  // The attempt's number for it, from 1.
    const std::string name;
    const std::uint32_t permits;
    const Duration wait;
    std::stop_source lost;  // Stopped when it was had and is taken away.

    // The first answer counts. From any thread.
    void Answer(LockVerdictSeen verdict) {
        {
            const std::scoped_lock lock(mutex_);
            if (!verdict_) verdict_ = std::move(verdict);
        }
        changed_.notify_all();
    }

    // The answer; nothing if it has not come within `most`, or before `stop`.
    std::optional<LockVerdictSeen> Await(const std::stop_token& stop, Duration most) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, stop, most, [this] { return verdict_.has_value(); });
        return verdict_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::optional<LockVerdictSeen> verdict_;
};

using LockCallPtr = std::shared_ptr<LockCall>;

}  // namespace takt::internal
