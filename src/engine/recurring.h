// Recurring: a task that fires again and again, as the engine holds it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/time.h"
#include "engine/holds.h"
#include "engine/live.h"
#include "engine/timer_heap.h"
#include "model/task.h"

namespace takt::internal {

// How long until due times that cannot be found (tzdata is missing) are looked for again.
constexpr Duration kPlanRetry{60'000};

// Waits in the timer heap for its next due time. A million of them may do so: what only a running
// one needs is not here.
struct Recurring : Timer {
    TaskRow row;
    std::unique_ptr<Hold> turns;  // Sequential mode: one at a time. There while there are runs.
    std::vector<Live*> runs;      // Its executions that are not finished, in no order.
    std::uint32_t at_work = 0;    // Where it is among those that have runs, if it has.
    std::uint32_t forced = 0;     // How many of them ask for no turn.
    std::uint32_t caught_up = 0;  // Fires made late, one after the other, by kFireAll.
    Time replan_after{};   // The next due time after this could not be found yet; 0: it is known.
    bool told = false;     // That its due times cannot be found.
    bool deleted = false;  // Only keeps its last runs in order.
    std::uint64_t order = 0;
    ChangeMark mark;

    // How many of its runs may go on at once; 0 is no limit.
    std::uint32_t TurnsAtOnce() const { return row.task->opt().mode == Mode::kSequential ? 1 : 0; }
};

// A run of a recurring task that is to be made.
struct FireRequest {
    Time due{};
    Origin origin = Origin::kFire;
    ExecutionId execution = {};  // Empty: one is made.
    Text payload;
    bool force = false;
};

// Whether the execution is a run of a recurring task, in whose order it stands. The past that somebody
// makes up for, and a step that names the task, stand in it only if the task's runs may never overlap.
bool IsOwned(const Execution& row);

}  // namespace takt::internal
