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

namespace takt::internal {

// Runs on what its thread works with (a connection, say) and calls its Done. Given an error
// instead, it calls Done with that.
template <typename Context>
using Operation = std::move_only_function<void(Context* context, const Error* refusal)>;

// `work` takes a Context& and returns Result<T>.
template <typename Context, typename T, typename Work>
Operation<Context> MakeOperation(Work work, Done<T> done) {
    return [work = std::move(work), done = std::move(done)](Context* context,
                                                            const Error* refusal) mutable {
        if (refusal) return done(std::unexpected(*refusal));
        done(work(*context));
    };
}

// First in, first out. Its length is bounded by its users: a node has at most pipeline_max commits
// under way, and the API limits how many requests it serves at once.
template <typename Context>
class OperationQueue {
  public:
    // REQUIRES: not closed; nobody uses a store that is being destroyed.
    void Push(Operation<Context> operation) {
        {
            const std::lock_guard lock(mutex_);
            operations_.push_back(std::move(operation));
        }
        ready_.notify_one();
    }

    // The next operation, if there is one now.
    std::optional<Operation<Context>> TryPop() {
        const std::lock_guard lock(mutex_);
        return PopLocked();
    }

    // Waits for the next operation. Nothing once the queue is closed.
    std::optional<Operation<Context>> Pop() {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [this] { return closed_ || !operations_.empty(); });
        return PopLocked();
    }

    // Ends what is queued with kCancelled and lets every Pop return.
    void Close() {
        std::deque<Operation<Context>> left;
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
            left.swap(operations_);
        }
        ready_.notify_all();
        const Error cancelled{ErrorCode::kCancelled, "the store was closed", {}};
        for (Operation<Context>& operation : left) operation(nullptr, &cancelled);
    }

  private:
    std::optional<Operation<Context>> PopLocked() {
        if (closed_ || operations_.empty()) return std::nullopt;
        std::optional<Operation<Context>> first(std::move(operations_.front()));
        operations_.pop_front();
        return first;
    }

    std::mutex mutex_;
    std::condition_variable ready_;
    std::deque<Operation<Context>> operations_;
    bool closed_ = false;
};

}  // namespace takt::internal
