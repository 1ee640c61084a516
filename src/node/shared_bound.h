// SharedBound: how much of something all namespaces of a process may use together, memory above all.
//
// As long as there is room everybody takes what it needs. When it is used up, those are refused that
// have their equal share or more; whoever has less still gets it, so that one that asks without end
// keeps out itself and nobody else. Together they use twice the bound at the very most.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace takt::internal {

class SharedBound {
  public:
    explicit SharedBound(std::size_t max) : max_(max) {}

    // One namespace's part. From any thread.
    class Share {
      public:
        explicit Share(std::shared_ptr<SharedBound> bound) : bound_(std::move(bound)) {}
        Share(const Share&) = delete;
        Share& operator=(const Share&) = delete;
        ~Share() { Set(0); }

        void Add(std::size_t count) {
            if (count == 0) return;
            if (used_.fetch_add(count, std::memory_order_relaxed) == 0) {
                bound_->users_.fetch_add(1, std::memory_order_relaxed);
            }
            bound_->used_.fetch_add(count, std::memory_order_relaxed);
        }
        // REQUIRES: so many were added.
        void Remove(std::size_t count) {
            if (count == 0) return;
            if (used_.fetch_sub(count, std::memory_order_relaxed) == count) {
                bound_->users_.fetch_sub(1, std::memory_order_relaxed);
            }
            bound_->used_.fetch_sub(count, std::memory_order_relaxed);
        }
        // REQUIRES: on one thread at a time, without Add and Remove.
        void Set(std::size_t count) {
            const std::size_t before = used_.load(std::memory_order_relaxed);
            count > before ? Add(count - before) : Remove(before - count);
        }
        // Whether it gets no more for now.
        bool full() const {
            if (bound_->used_.load(std::memory_order_relaxed) < bound_->max_) return false;
            const std::size_t users = bound_->users_.load(std::memory_order_relaxed);
            return used_.load(std::memory_order_relaxed) >=
                   bound_->max_ / std::max<std::size_t>(users, 1);
        }

      private:
        const std::shared_ptr<SharedBound> bound_;
        std::atomic<std::size_t> used_ = 0;
    };

  private:
    const std::size_t max_;
    std::atomic<std::size_t> used_ = 0;
    std::atomic<std::size_t> users_ = 0;  // That use some of it.
};

}  // namespace takt::internal
