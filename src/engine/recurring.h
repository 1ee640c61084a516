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

struct Recurring;

// Unbegun: the fires of a task of which nothing has begun yet. Waits in the timer heap since when the
// first of them was ready, or for longer.
struct Unbegun : Timer {
    Recurring* of = nullptr;
    std::uint32_t fires = 0;
};

// Waits in the timer heap for its next due time. A million of them may do so: what only a running
// one needs is not here.
struct Recurring : Timer {
    TaskRow row;
    std::unique_ptr<Hold> turns;  // There while there are runs, or turns are not returned.
    std::vector<Live*> runs;      // Its executions that are not finished, in no order.
    std::uint32_t forced = 0;     // How many of them ask for no turn.
    std::uint32_t stopping = 0;   // Turns of runs that are over, until their handlers have stopped.
    std::uint32_t caught_up = 0;  // Fires made late, one after the other, by kFireAll.
    Time replan_after{};   // The next due time after this could not be found yet; 0: it is known.
    bool told = false;     // That its due times cannot be found.
    bool deleted = false;  // Only keeps its last runs in order.
    std::uint64_t order = 0;
    ChangeMark mark;
    Unbegun unbegun;

    Hold& EnsureTurns() {
        if (!turns) {
            turns = std::make_unique<Hold>();
            turns->order = order;
            turns->permits_max = TurnsAtOnce();
        }
        return *turns;
    }
    // How many of its runs may go on at once; 0 is no limit. What `skip` and `replace` let begin waits
    // for the handler of a run that was ended.
    std::uint32_t TurnsAtOnce() const { return row.task->opt().mode == Mode::kParallel ? 0 : 1; }
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
