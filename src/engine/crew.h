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
#include <utility>
#include <vector>

#include "base/time.h"
#include "engine/free_index.h"
#include "engine/lanes.h"
#include "engine/slot.h"
#include "engine/timer_heap.h"

namespace takt::internal {

class Crew;

// Sheaf: the lines of one named limit in a bay. A limit that is reached, or open again, says so to its
// sheaves and not to each of its lines, of which there may be ten thousand.
struct Sheaf : Timer {
    Bay* bay = nullptr;
    Hold* limit = nullptr;
    std::size_t place = 0;  // Among the sheaves of its limit.
    bool runs = false;      // Of workflows: they need no worker, and have sheaves of their own.
    bool open = false;      // As the limit.
    TimerHeap<Line, Urgency> lines;

    // Takes its place in its bay: another line is the first, or the limit is open or reached.
    void Rank();
};

// Bay: the lanes of one queue that a crew serves. While the queue is closed they wait as one.
struct Bay : Timer {
    Crew* crew = nullptr;
    Queue* queue = nullptr;
    std::size_t place = 0;  // Among the bays of its queue.
    std::vector<Lane*> lanes;
    bool shut = false;                  // Found closed, and not looked at until its queue reopens.
    TimerHeap<Lane, Urgency> ready;     // Lanes in which something waits without a limit.
    TimerHeap<Sheaf, Urgency> limited;  // Of limits that are open.
    std::map<std::pair<std::uint64_t, bool>, std::unique_ptr<Sheaf>> sheaves;  // By limit and runs.

    // Whether nothing of it may start.
    bool empty() const { return ready.empty() && limited.empty(); }
    // The next to start. REQUIRES: not empty.
    Live* front() const;
    Urgency urgency() const;

    // Lines in which something waits.
    void Add(Line& line);
    void Remove(Line& line);
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
    // The member of this order if it has room; else null.
    Slot* FindFree(std::uint64_t order) const;
    // Workers that have room, for strategies; made when first asked for.
    HashRing& hash_ring();
    // All that it knows of an earlier `reset` is forgotten.
    WeightedTurns& weighted_turns(std::uint64_t reset);

    // The most urgent of what may start from open queues; null if there is none.
    Live* First(Steady now);
    // The bay's first lane has changed, or its queue is open again.
    void Rank(Bay& bay);

  private:
    friend class Crews;

    void Toggle(Slot& slot);
    void CountFree();
    void SetRoom(std::size_t place, bool room);
    template <typename Visit>
    void ForEachFree(Visit visit) const;
    template <typename Visit>
    void ForEachLane(Visit visit) const;
    std::size_t PlaceOf(std::uint64_t order) const;
    Bay& BayOf(Queue& queue);

    const std::uint64_t number_;
    std::uint64_t mark_ = 0;  // Of who is in it, in whatever order they came.
    std::vector<Slot*> members_;
    std::vector<std::uint64_t> with_room_;  // A bit for each member.
    std::size_t free_ = 0;
    std::unique_ptr<HashRing> hash_ring_;
    std::unique_ptr<WeightedTurns> weighted_turns_;
    std::uint64_t reset_ = 0;
    std::size_t lanes_ = 0;
    std::size_t aimed_ = 0;                               // Of them, those with a target.
    std::map<std::uint64_t, std::unique_ptr<Bay>> bays_;  // By the number of their queue.
    TimerHeap<Bay, Urgency> ready_;
};

inline const Crew& Lane::crew() const {
    return *bay->crew;
}

// A number of 64 bits for each worker, such that two sets of workers whose numbers give the same by XOR
// are not met with.
std::uint64_t MarkOf(const Slot& slot);

class Crews {
  public:
    // A lane that is in no crew yet. `members` serve it, in the order in which they joined.
    void Place(Lane& lane, const std::vector<Slot*>& members);
    // The same, if there is a crew whose members have this mark; else false.
    bool PlaceByMark(Lane& lane, std::uint64_t mark);
    // REQUIRES: nothing waits in the lane.
    void Remove(Lane& lane);
    // The worker serves each of these lanes if it did not before, and does not any more if it did.
    void Toggle(Slot& slot, std::vector<Lane*> lanes);
    // The worker is new, and `like` serves the same lanes but those with a target: of these it is asked
    // whether the new one serves them.
    template <typename Serves>
    void Join(Slot& slot, const Slot& like, Serves serves);
    // The worker serves none any more.
    void Leave(Slot& slot);

  private:
    void ToggleOne(Slot& slot, Crew& crew, std::span<Lane* const> lanes);
    void ToggleAll(Slot& slot, Crew& crew);
    void Rekey(Crew& crew, Slot& slot);
    Crew& Make(const std::vector<Slot*>& members, std::uint64_t mark);
    void Put(Lane& lane, Crew& crew);
    void Take(Lane& lane);

    std::unordered_map<std::uint64_t, std::unique_ptr<Crew>> crews_;  // By mark.
    std::uint64_t made_ = 0;
};

template <typename Visit>
void Crew::ForEachLane(Visit visit) const {
    for (const auto& [number, bay] : bays_) {
        for (Lane* lane : bay->lanes) visit(*lane);
    }
}

template <typename Serves>
void Crews::Join(Slot& slot, const Slot& like, Serves serves) {
    std::vector<Lane*> some;
    for (Crew* crew : std::vector<Crew*>(like.crews)) {
        if (crew->aimed_ == 0) {
            ToggleAll(slot, *crew);
            continue;
        }
        crew->ForEachLane([&](Lane& lane) {
            if (serves(lane)) some.push_back(&lane);
        });
    }
    Toggle(slot, std::move(some));
}

}  // namespace takt::internal
