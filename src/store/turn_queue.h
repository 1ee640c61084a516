// TurnQueue: operations that wait for one thread, each of a partition. Partitions come by turns, so
// that one with much to do delays another by one operation; those of one partition stay in order.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "store/operation_queue.h"

namespace takt::internal {

template <typename Context>
class TurnQueue {
  public:
    // REQUIRES: not closed; nobody uses a store that is being destroyed.
    void Push(Partition partition, Operation<Context> operation) {
        {
            const std::lock_guard lock(mutex_);
            waiting_[partition].push_back(std::move(operation));
        }
        ready_.notify_one();
    }

    // Waits for the next operation. Nothing once the queue is closed.
    std::optional<Operation<Context>> Pop() {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
        if (closed_) return std::nullopt;
        auto next = waiting_.upper_bound(last_);
        if (next == waiting_.end()) next = waiting_.begin();
        last_ = next->first;
        Operation<Context> operation = std::move(next->second.front());
        next->second.pop_front();
        if (next->second.empty()) waiting_.erase(next);
        return operation;
    }

    // Ends what is queued with kCancelled and lets every Pop return.
    void Close() {
        std::map<Partition, std::deque<Operation<Context>>> left;
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
            left.swap(waiting_);
        }
        ready_.notify_all();
        const Error cancelled{ErrorCode::kCancelled, "the store was closed", {}};
        for (auto& [partition, operations] : left) {
            for (Operation<Context>& operation : operations) operation(nullptr, &cancelled);
        }
    }

  private:
    std::mutex mutex_;
    std::condition_variable ready_;
    std::map<Partition, std::deque<Operation<Context>>> waiting_;  // None of them empty.
    Partition last_ = 0;                                           // Whose turn it was.
    bool closed_ = false;
};

}  // namespace takt::internal
