// Tracker: counts what is under way, so that whoever destroys its ground can wait for the end.
#pragma once

#include <condition_variable>
#include <mutex>
#include <utility>

namespace takt::internal::etcd {

class Tracker {
  public:
    // While it lives, something is under way. The last thing that a coroutine lets go of.
    class Hold {
      public:
        explicit Hold(Tracker& tracker) : tracker_(&tracker) {
            const std::lock_guard lock(tracker.mutex_);
            ++tracker.count_;
        }
        Hold(Hold&& other) noexcept : tracker_(std::exchange(other.tracker_, nullptr)) {}
        Hold& operator=(Hold&&) = delete;
        ~Hold() {
            if (!tracker_) return;
            // Under the lock: the one who waits may destroy the tracker right after.
            const std::lock_guard lock(tracker_->mutex_);
            if (--tracker_->count_ == 0) tracker_->idle_.notify_all();
        }

      private:
        Tracker* tracker_;
    };

    void WaitUntilIdle() {
        std::unique_lock lock(mutex_);
        idle_.wait(lock, [this] { return count_ == 0; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable idle_;
    std::size_t count_ = 0;
};

}  // namespace takt::internal::etcd
