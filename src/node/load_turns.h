// LoadTurns: how many namespaces of a process load at once, and in which order.
//
// A scheduler that takes over a hundred namespaces would otherwise read all of them at once, and each
// would be ready as late as the last. The default one goes ahead of those that wait, the others in the
// order in which they came.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "base/id.h"
#include "store/store.h"

namespace takt::internal {

class LoadTurns : public std::enable_shared_from_this<LoadTurns> {
  public:
    static constexpr std::size_t kAtOnce = 4;

    // A place among those that load or wait. Letting go of it makes room for the next.
    class Place {
      public:
        Place() = default;
        Place(Place&& other) noexcept { *this = std::move(other); }
        Place& operator=(Place&& other) noexcept {
            Leave();
            turns_ = std::move(other.turns_);
            number_ = std::exchange(other.number_, 0);
            return *this;
        }
        ~Place() { Leave(); }
        void Leave() {
            if (const auto turns = std::exchange(turns_, nullptr)) turns->Remove(number_);
        }

      private:
        friend class LoadTurns;
        Place(std::shared_ptr<LoadTurns> turns, std::uint64_t number)
            : turns_(std::move(turns)), number_(number) {}

        std::shared_ptr<LoadTurns> turns_;
        std::uint64_t number_ = 0;
    };

    // `begin` is called once, on any thread, when it is the partition's turn; maybe at once. From any
    // thread.
    [[nodiscard]] Place Enter(Partition partition, std::function<void()> begin) {
        std::uint64_t number = 0;
        {
            const std::lock_guard lock(mutex_);
            number = ++last_;
            const auto before = partition == kDefaultPartition ? waiting_.begin() : waiting_.end();
            waiting_.insert(before, {number, std::move(begin)});
        }
        BeginNext();
        return {shared_from_this(), number};
    }

  private:
    struct Waiting {
        std::uint64_t number = 0;
        std::function<void()> begin;
    };

    void BeginNext() {
        for (;;) {
            std::function<void()> begin;
            {
                const std::lock_guard lock(mutex_);
                if (waiting_.empty() || loading_.size() >= kAtOnce) return;
                loading_.push_back(waiting_.front().number);
                begin = std::move(waiting_.front().begin);
                waiting_.pop_front();
            }
            begin();
        }
    }
    void Remove(std::uint64_t number) {
        {
            const std::lock_guard lock(mutex_);
            loading_.remove(number);
            waiting_.remove_if([&](const Waiting& one) { return one.number == number; });
        }
        BeginNext();
    }

    std::mutex mutex_;
    std::list<Waiting> waiting_;
    std::list<std::uint64_t> loading_;
    std::uint64_t last_ = 0;
};

}  // namespace takt::internal
