// Inbox: what others ask of a node and tell it, from any thread, until the node takes it.
//
// What workers say must not be lost to a flood of requests, so only requests are refused. Nothing
// here bounds the workers: a result that is thrown away is a run for nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/input.h"
#include "node/shared_bound.h"
#include "store/store.h"

namespace takt::internal {

class Inbox {
  public:
    struct Item {
        Input input;
        Done<Answer> done;  // Empty if told.
    };

    // `bound` is what may wait in all inboxes together. `wake` brings the node here. Called on any
    // thread, once until the node has taken everything.
    Inbox(std::shared_ptr<SharedBound> bound, std::function<void()> wake)
        : waiting_(std::move(bound)), wake_(std::move(wake)) {}

    // False if too many wait: the request is still the caller's.
    [[nodiscard]] bool Ask(Item& item) {
        if (waiting_.full()) return false;
        Add([&](std::vector<Item>& items) { items.push_back(std::move(item)); }, 1);
        return true;
    }
    void Tell(std::vector<Input> inputs) {
        const std::size_t count = inputs.size();
        Add(
            [&](std::vector<Item>& items) {
                for (Input& input : inputs) items.push_back({std::move(input), {}});
            },
            count);
    }
    void Tell(Input input) {
        Add([&](std::vector<Item>& items) { items.push_back({std::move(input), {}}); }, 1);
    }

    // On the node's thread: hands out what came up to now, in order, as long as `take` returns
    // true. True if something is left: the node has to come again by itself.
    template <typename Take>
    bool TakeEach(Take take) {
        if (next_ == taken_.size()) {
            taken_.clear();
            next_ = 0;
            const std::scoped_lock lock(mutex_);
            taken_.swap(items_);
            woken_ = !taken_.empty();
        }
        bool more = true;
        while (more && next_ < taken_.size()) {
            Item item = std::move(taken_[next_++]);
            waiting_.Remove(1);
            more = take(item);
        }
        const std::scoped_lock lock(mutex_);
        woken_ = next_ < taken_.size() || !items_.empty();
        return woken_;
    }

  private:
    template <typename Put>
    void Add(Put put, std::size_t count) {
        waiting_.Add(count);
        {
            const std::scoped_lock lock(mutex_);
            put(items_);
            if (std::exchange(woken_, true)) return;
        }
        wake_();
    }

    SharedBound::Share waiting_;
    const std::function<void()> wake_;
    std::mutex mutex_;
    std::vector<Item> items_;
    bool woken_ = false;
    // On the node's thread.
    std::vector<Item> taken_;
    std::size_t next_ = 0;
};

}  // namespace takt::internal
