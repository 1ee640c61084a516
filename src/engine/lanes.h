// Lanes: where executions that may start now wait for a worker.
//
// A lane holds the executions of one queue that ask for the same thing of a worker (type, labels,
// target), by priority and then by age. Since all of a lane can go to the same workers, whether
// and where its next one can start is decided without looking at the others.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "engine/input.h"
#include "engine/live.h"
#include "engine/pace.h"
#include "engine/timer_heap.h"
#include "model/task.h"

namespace takt::internal {

struct Bay;
class Crew;
struct Hold;
struct Lane;
struct Sheaf;

// A vector in no order whose entries know their `place` in it, so that any is taken out at once.
template <typename T>
void PutIn(std::vector<T*>& all, T& one) {
    one.place = static_cast<decltype(one.place)>(all.size());
    all.push_back(&one);
}
template <typename T>
void TakeOut(std::vector<T*>& all, T& one) {
    all[one.place] = all.back();
    all[one.place]->place = one.place;
    all.pop_back();
}

// Which of several executions comes first: the lesser. It stays the same however long they wait.
struct Urgency {
    std::int64_t rank = 0;
    Time ready_at{};
    std::uint64_t serial = 0;

    auto operator<=>(const Urgency&) const = default;
};

// With ageing, to have waited for `ageing` counts as one priority more.
Urgency UrgencyOf(const Execution& row, Duration ageing);

// Line: the executions of one lane and priority that wait under one named limit, oldest first.
// While the limit is open, the first of them stands in the lane. Waits among the lines of its sheaf,
// by its first.
struct Line : Timer {
    Lane* lane = nullptr;
    Hold* limit = nullptr;
    std::uint8_t priority = 0;
    std::uint32_t place = 0;  // Among the lines of its lane.
    Sheaf* sheaf = nullptr;
    LiveList waiting;

    // Whether the first stands in the lane.
    bool standing() const;
    // Of the first.
    Urgency urgency() const;
    // Another one is the first.
    void Rank();
};

// A named queue, what is in it and what an operator said of it. Waits in the timer heap for its
// pace.
struct Queue : Timer {
    Text name;
    std::uint64_t number = 0;    // In order of making.
    std::size_t waiting = 0;     // Pending and retrying, those whose time has not come included.
    std::size_t working = 0;     // Scheduled and running.
    std::uint64_t finished = 0;  // Not skipped; since this engine began, or last forgot it.
    QueueLimits limits;
    Pace pace;
    std::map<std::uint64_t, Lane*> lanes;  // By number.
    std::vector<Bay*> bays;                // One for each crew that serves lanes of it.

    bool Open(Steady now);
    // Whether one that starts may take the place of another one.
    bool limited() const { return limits.working_max > 0 || limits.rate.count > 0; }
    // It may be open again: its lanes are looked at as before.
    void Reopen();
    // Whether forgetting it would make no difference but to `finished`.
    bool Idle() const {
        return lanes.empty() && waiting == 0 && working == 0 && !armed() && !limits.paused &&
               limits.working_max == 0 && limits.rate.count == 0;
    }
};

// Waits among the lanes of its bay, by what it has first.
struct Lane : Timer {
    Queue* queue = nullptr;
    Text type;
    Text target;
    Pairs labels;
    std::uint64_t number = 0;  // In order of making.
    bool runs = false;         // Of workflows: what waits here needs no worker.

    std::array<LiveList, kPriorityMax + 1> waiting;
    std::uint32_t priorities = 0;  // Bit p is set if waiting[p] is not empty.

    Bay* bay = nullptr;       // Where it waits for workers, once it is in a crew.
    std::uint32_t place = 0;  // Among the lanes of its bay.
    std::uint64_t last = 0;   // The order of the worker that was chosen last.
    std::size_t live = 0;     // Executions that point here, waiting or not.
    std::uint64_t idle = 0;   // If there is none: in which order it became so.
    const std::string* key = nullptr;
    Duration ageing{0};  // As configured.

    std::vector<Line*> lines;  // Of named limits, in no order.

    // The workers that serve this lane. In engine/crew.h.
    const Crew& crew() const;

    // The next to start of those in `waiting`. REQUIRES: there is one.
    Live* first_waiting() const;
    // The next to start, those that stand in from its lines included; null if there is none. Looks at
    // all lines.
    Live* front() const;
    bool empty() const { return !front(); }
    Urgency urgency() const { return UrgencyOf(front()->row, ageing); }

    // `back`: it was here before, and goes back to its place.
    void Add(Live& live, bool back = false);
    void Remove(Live& live);
    // Takes its place in its bay. All that changes what is first in `waiting` does so.
    void Rank();
};

class Lanes {
  public:
    explicit Lanes(Duration ageing) : ageing_(ageing) {}

    // The lane for a task; made if there is none. `made` tells.
    Lane& For(const Task& task, bool& made);
    Queue& QueueOf(const Text& name);

    // Calls `visit` for every lane, in order of their names.
    template <typename Visit>
    void ForEach(Visit visit) {
        for (auto& [key, lane] : lanes_) visit(*lane);
    }
    const std::map<Text, std::unique_ptr<Queue>, std::less<>>& queues() const { return queues_; }

    // Lanes whose target is this name.
    std::vector<Lane*> AimedAt(const Text& target) const;

    // An execution points to the lane, or does not any more.
    void Use(Lane& lane) {
        ++lane.live;
        idle_.erase(std::exchange(lane.idle, 0));
    }
    void Release(Lane& lane) {
        if (--lane.live == 0) idle_.emplace(lane.idle = ++idled_, &lane);
    }

    // Forgets lanes and queues that nothing points to when there are many, telling `forget` of each
    // lane first. Their names come from users; without this they would pile up for ever. Of lanes those
    // that are idle for the longest, and no more than a few at a time. REQUIRES: nobody holds a Queue
    // or a Lane in which nothing is.
    template <typename Forget>
    void Sweep(Forget forget) {
        for (std::size_t i = 0; i < kForgotten && TooManyIdle(); ++i) {
            Lane& lane = *idle_.begin()->second;
            forget(lane);
            Erase(lane);
        }
        if (queues_.size() <= sweep_queues_above_) return;
        std::erase_if(queues_, [](const auto& entry) { return entry.second->Idle(); });
        // If most are in use, looking at all of them again for each new one would take for ever.
        sweep_queues_above_ = std::max(kKept, 2 * queues_.size());
    }
    std::size_t size() const { return lanes_.size(); }

  private:
    static constexpr std::size_t kKept = 256;
    // More than can have come since the last time.
    static constexpr std::size_t kForgotten = 2;

    // As many as are in use may come back soon.
    bool TooManyIdle() const {
        return idle_.size() > std::max(kKept, lanes_.size() - idle_.size());
    }
    void Erase(Lane& lane);

    const Duration ageing_;
    std::map<std::string, std::unique_ptr<Lane>, std::less<>> lanes_;
    std::map<Text, std::unique_ptr<Queue>, std::less<>> queues_;
    std::map<Text, std::map<std::uint64_t, Lane*>> aimed_;  // By target and number.
    std::map<std::uint64_t, Lane*> idle_;                   // Since when, in turns.
    std::uint64_t idled_ = 0;
    std::string key_;       // Scratch.
    Lane* last_ = nullptr;  // Bulk submits ask for one lane over and over.
    std::uint64_t made_ = 0;
    std::uint64_t queues_made_ = 0;
    std::size_t sweep_queues_above_ = kKept;
};

}  // namespace takt::internal
