// TimerHeap: what happens next, by time. A binary heap whose entries know their place in it, so
// that a timer is moved or removed in O(log n), and a thing without a timer costs no entry.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"

namespace takt::internal {

// The base of what can wait in a heap; in one heap at a time.
struct Timer {
    static constexpr std::uint32_t kNone = UINT32_MAX;
    std::uint32_t position = kNone;

    bool armed() const { return position != kNone; }
};

// `T` derives from Timer. `At` is a time point. Timers of one moment come in the order of `order`,
// so that equal histories give equal results.
template <typename T, typename At>
class TimerHeap {
  public:
    bool empty() const { return entries_.empty(); }
    std::size_t size() const { return entries_.size(); }

    // REQUIRES: not empty.
    At next_at() const { return entries_.front().at; }
    T* next() const { return entries_.front().timer; }

    // REQUIRES: armed, here.
    At TimeOf(const T& timer) const { return entries_[timer.position].at; }

    // Arms the timer, or moves it.
    void Set(T& timer, At at, std::uint64_t order) {
        if (!timer.armed()) {
            timer.position = static_cast<std::uint32_t>(entries_.size());
            entries_.push_back({at, order, &timer});
        } else {
            entries_[timer.position].at = at;
            entries_[timer.position].order = order;
        }
        Down(Up(timer.position));
    }

    void Remove(T& timer) {
        const std::uint32_t hole = timer.position;
        if (hole == Timer::kNone) return;
        TAKT_CHECK(entries_[hole].timer == &timer);
        timer.position = Timer::kNone;
        const Entry last = entries_.back();
        entries_.pop_back();
        if (hole == entries_.size()) return;
        Put(hole, last);
        Down(Up(hole));
    }

    // All of them, in no order.
    std::vector<T*> All() const {
        std::vector<T*> all;
        all.reserve(entries_.size());
        for (const Entry& entry : entries_) all.push_back(entry.timer);
        return all;
    }

    // The first `count` in their order, whatever the size of the heap: what comes next is always a
    // child of one that is taken already.
    std::vector<const T*> First(std::size_t count) const { return FirstUntil(At::max(), count); }
    // The same of those whose time is not after `until`.
    std::vector<const T*> FirstUntil(At until, std::size_t count) const {
        const auto later = [&](std::size_t a, std::size_t b) { return entries_[b] < entries_[a]; };
        std::vector<std::size_t> open;
        std::vector<const T*> first;
        if (!entries_.empty()) open.push_back(0);
        while (!open.empty() && first.size() < count) {
            std::ranges::pop_heap(open, later);
            const std::size_t position = open.back();
            open.pop_back();
            // A timer that is below it in the heap, or comes after it, is later still.
            if (until < entries_[position].at) break;
            first.push_back(entries_[position].timer);
            for (const std::size_t child : {2 * position + 1, 2 * position + 2}) {
                if (child >= entries_.size()) break;
                open.push_back(child);
                std::ranges::push_heap(open, later);
            }
        }
        return first;
    }

  private:
    struct Entry {
        At at;
        std::uint64_t order;
        T* timer;

        bool operator<(const Entry& other) const {
            return at != other.at ? at < other.at : order < other.order;
        }
    };

    void Put(std::uint32_t position, const Entry& entry) {
        entries_[position] = entry;
        entry.timer->position = position;
    }

    std::uint32_t Up(std::uint32_t position) {
        const Entry entry = entries_[position];
        while (position > 0) {
            const std::uint32_t parent = (position - 1) / 2;
            if (!(entry < entries_[parent])) break;
            Put(position, entries_[parent]);
            position = parent;
        }
        Put(position, entry);
        return position;
    }

    void Down(std::uint32_t position) {
        const Entry entry = entries_[position];
        const auto size = static_cast<std::uint32_t>(entries_.size());
        for (;;) {
            std::uint32_t child = 2 * position + 1;
            if (child >= size) break;
            if (child + 1 < size && entries_[child + 1] < entries_[child]) ++child;
            if (!(entries_[child] < entry)) break;
            Put(position, entries_[child]);
            position = child;
        }
        Put(position, entry);
    }

    std::vector<Entry> entries_;
};

}  // namespace takt::internal
