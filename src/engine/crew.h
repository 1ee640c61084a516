// Crew: the workers that serve a lane, and which lane is next with them.
//
// Lanes that are served by the same workers share a crew, and each lane is in one. So a worker that
// has room, or has none any more, tells its crews and not each of its lanes, of which there may be
// ten thousand; and what a worker runs next is the most urgent of what its crews have first. Workers
// mostly differ in few ways: there are few crews, and a worker is in few of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "engine/lanes.h"
#include "engine/slot.h"
#include "engine/timer_heap.h"

namespace takt::internal {

class Crew;

// Bay: the lanes of one queue that a crew serves. While the queue is closed they wait as one.
struct Bay : Timer {
    Crew* crew = nullptr;
    Queue* queue = nullptr;
    std::size_t lanes = 0;
    bool shut = false;               // Found closed, and not looked at until its queue reopens.
    TimerHeap<Lane, Urgency> ready;  // Lanes of which something may start.
};

class Crew {
  public:
    explicit Crew(std::uint64_t number) : number_(number) {}

    std::uint64_t number() const { return number_; }                // In order of making.
    const std::vector<Slot*>& members() const { return members_; }  // In the order they joined.
    bool Has(const Slot& slot) const;

    // How many have room, as they last told.
    std::size_t free() const { return free_; }
    // The member's `can_take` has changed.
    void Refresh(const Slot& slot);
    // Adds up to `count_max` that have room to `found`: those that joined after the one of order
    // `after` first, then the others; in both parts in the order in which they joined.
    void FindFree(std::uint64_t after, std::size_t count_max, std::vector<Slot*>& found) const;

    // The lane of an open queue whose next is the most urgent; null if there is none.
    Lane* First(Steady now);
    // The bay's first lane has changed, or its queue is open again.
    void Rank(Bay& bay);

  private:
    friend class Crews;

    void Toggle(Slot& slot);
    void CountFree();
    void SetRoom(std::size_t place, bool room);
    std::size_t PlaceOf(std::uint64_t order) const;
    Bay& BayOf(Queue& queue);

    const std::uint64_t number_;
    std::uint64_t mark_ = 0;  // Of who is in it, in whatever order they came.
    std::vector<Slot*> members_;
    std::vector<std::uint64_t> with_room_;  // A bit for each member.
    std::size_t free_ = 0;
    std::size_t lanes_ = 0;
    std::map<std::uint64_t, std::unique_ptr<Bay>> bays_;  // By the number of their queue.
    TimerHeap<Bay, Urgency> ready_;
};

inline const Crew& Lane::crew() const {
    return *bay->crew;
}

class Crews {
  public:
    // A lane that is in no crew yet. `members` serve it, in the order in which they joined.
    void Place(Lane& lane, const std::vector<Slot*>& members);
    // REQUIRES: nothing waits in the lane.
    void Remove(Lane& lane);
    // The worker serves each of these lanes if it did not before, and does not any more if it did.
    void Toggle(Slot& slot, std::vector<Lane*> lanes);

  private:
    void ToggleOne(Slot& slot, Crew& crew, std::span<Lane* const> lanes);
    Crew& Make(const std::vector<Slot*>& members, std::uint64_t mark);
    void Put(Lane& lane, Crew& crew);
    void Take(Lane& lane);

    std::unordered_map<std::uint64_t, std::unique_ptr<Crew>> crews_;  // By mark.
    std::uint64_t made_ = 0;
};

}  // namespace takt::internal
