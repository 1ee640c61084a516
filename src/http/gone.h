// HttpGone: tells whoever works on a request that its client went away before it was answered. From any
// thread.
#pragma once

#include <functional>
#include <mutex>
#include <utility>

namespace takt::internal {

class HttpGone {
  public:
    // Calls `then`, once, when the client has gone; now if it has. In place of an earlier one.
    void Then(std::move_only_function<void()> then) {
        std::unique_lock lock(mutex_);
        if (!gone_) {
            then_ = std::move(then);
            return;
        }
        lock.unlock();
        then();
    }

    void Tell() {
        std::unique_lock lock(mutex_);
        gone_ = true;
        auto then = std::exchange(then_, nullptr);
        lock.unlock();
        if (then) then();
    }

  private:
    std::mutex mutex_;
    bool gone_ = false;
    std::move_only_function<void()> then_;
};

}  // namespace takt::internal
