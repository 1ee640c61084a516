// Views: the engine as others see it: the API, links, alerts, metrics. Values, so that nobody
// outside walks the engine's own lists, whose shape is the engine's business.
//
// A view's references are valid until the engine's next step; whoever keeps them longer copies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "engine/input.h"
#include "model/execution.h"
#include "model/lock.h"
#include "model/run_progress.h"
#include "model/task.h"
#include "model/worker.h"

namespace takt::internal {

struct QueueView {
    Text name;
    QueueLimits limits;
    std::size_t waiting = 0;     // Pending and retrying, those whose time has not come included.
    std::size_t working = 0;     // Scheduled and running.
    std::uint64_t finished = 0;  // Not skipped; since this engine began, or last forgot the queue.
    // Of the executions that only wait for a worker: how many, by priority, and when the one that
    // has waited longest became ready; 0 if there is none.
    std::array<std::size_t, kPriorityMax + 1> ready{};
    Time oldest_ready{};
};

struct WorkerView {
    const Worker& row;
    const WorkerLoad& load;
    SessionId session = 0;    // 0 while it is not connected.
    std::uint32_t busy = 0;   // Places that are taken, by attempts it has yet to stop too.
    std::size_t in_hand = 0;  // Attempts that are its own.
    bool leaving = false;     // Forgotten as soon as its hand is empty.
};

// An attempt in a worker's hand.
struct HeldView {
    const Execution& execution;
    Duration timeout{0};  // Of the attempt, as it was sent.
    std::vector<LockGrant> locks;
};

// A recurring task and its executions that are not finished, in no order.
struct TaskView {
    const TaskRow& row;
    std::vector<const Execution*> runs;
};

// The children of a step that live.
struct StepView {
    std::uint32_t waiting = 0;  // Pending and retrying.
    std::uint32_t running = 0;  // Scheduled and running.
};
// A run and how far it has come.
struct RunView {
    const Execution& execution;
    const RunProgress& progress;
    std::vector<StepView> steps;
};

// How far a running attempt says it is.
struct ProgressView {
    double fraction = 0;
    Text message;
    Time at{};
};

}  // namespace takt::internal
