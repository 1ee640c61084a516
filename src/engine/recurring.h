// Recurring: a task that fires again and again, as the engine holds it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/gate.h"
#include "engine/live.h"
#include "engine/timer_heap.h"
#include "model/task.h"

namespace takt::internal {

// Waits in the timer heap for its next due time.
struct Recurring : Timer {
    TaskRow row;
    Gate turns;                   // Sequential mode: one at a time.
    std::vector<Live*> runs;      // Its executions that are not finished.
    std::uint32_t caught_up = 0;  // Fires made late, one after the other, by kFireAll.
    std::uint64_t order = 0;
    ChangeMark mark;
};

}  // namespace takt::internal
