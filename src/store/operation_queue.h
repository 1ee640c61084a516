// Operations of a store that wait for a thread, and the one way in which they end when none comes.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "base/error.h"
#include "store/store.h"

namespace takt {

// Runs and calls its Done; given an error, it calls Done with that instead.
using Operation = std::move_only_function<void(const Error* refusal)>;

template <typename T, typename Work>
Operation MakeOperation(Work work, Done<T> done) {
    return [work = std::move(work), done = std::move(done)](const Error* refusal) mutable {
        if (refusal) return done(std::unexpected(*refusal));
        done(work());
    };
}

// First in, first out. Its length is bounded by its users: a node has at most pipeline_max commits
// under way, and the API limits how many requests it serves at once.
class OperationQueue {
  public:
    // REQUIRES: not closed; nobody uses a store that is being destroyed.
    void Push(Operation operation) {
        {
            const std::lock_guard lock(mutex_);
            operations_.push_back(std::move(operation));
        }
        ready_.notify_one();
    }

    // The next operation, if there is one now.
    std::optional<Operation> TryPop() {
        const std::lock_guard lock(mutex_);
        return PopLocked();
    }

    // Waits for the next operation. Nothing once the queue is closed.
    std::optional<Operation> Pop() {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [this] { return closed_ || !operations_.empty(); });
        return PopLocked();
    }

    // Ends what is queued with kCancelled and lets every Pop return.
    void Close() {
        std::deque<Operation> left;
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
            left.swap(operations_);
        }
        ready_.notify_all();
        const Error cancelled{ErrorCode::kCancelled, "the store was closed", {}};
        for (Operation& operation : left) operation(&cancelled);
    }

  private:
    std::optional<Operation> PopLocked() {
        if (closed_ || operations_.empty()) return std::nullopt;
        std::optional<Operation> first(std::move(operations_.front()));
        operations_.pop_front();
        return first;
    }

    std::mutex mutex_;
    std::condition_variable ready_;
    std::deque<Operation> operations_;
    bool closed_ = false;
};

}  // namespace takt
