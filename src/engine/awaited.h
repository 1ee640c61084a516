// Awaited: fires that may be late, without looking at a million tasks that are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/time.h"
#include "engine/live.h"
#include "engine/recurring.h"
#include "engine/timer_heap.h"
#include "model/change.h"

namespace takt::internal {

class Awaited {
  public:
    // A run of a recurring task is made, or was found by a new leader.
    void Add(Live& live);
    // It is written, to this place: it is awaited no more once it has begun, or is over.
    void NoteWritten(Live& live, Place place) {
        if (live.unbegun) NoteIfBegun(live, place);
    }
    // The task's due times cannot be found. False if that was known.
    bool NoteUnplanned(Recurring& recurring);
    // They are known, or there is no such task any more.
    void NotePlanned(Recurring& recurring);

    // Calls `visit` with the tasks of which a fire was ready by `until` and has not begun, and with
    // those whose due times cannot be found; of each kind at most so many, the former by time.
    template <typename Visit>
    void ForEach(Time until, std::size_t count_max, Visit visit) const {
        std::size_t left = count_max;
        for (auto at = unplanned_.begin(); at != unplanned_.end() && left > 0; ++at, --left) {
            visit(*at->second);
        }
        for (const Unbegun* unbegun : unbegun_.FirstUntil(until, count_max)) {
            if (!unbegun->of->deleted) visit(*unbegun->of);
        }
    }

  private:
    void NoteIfBegun(Live& live, Place place);

    TimerHeap<Unbegun, Time> unbegun_;
    std::map<std::uint64_t, Recurring*> unplanned_;  // By order.
};

}  // namespace takt::internal
