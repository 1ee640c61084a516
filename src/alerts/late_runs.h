// LateRuns: which recurring tasks have a run that did not happen, or began late.
//
// Watches due times against what the engine shows and what the store commits. Late is a run that
//   - is due and was not fired (nobody leads, or the leader is stuck),
//   - was fired and has not begun (no worker, a paused queue, its turn does not come),
//   - was dropped by the misfire policy, until a later run of the task begins,
//   - began late, until a later run of the task begins in time.
// A run that somebody triggers after the due time makes up for both of the last two. A task that is
// paused is not late, and what it was late with before is forgotten. Pure but for looking into the
// engine; on the node's thread.
#pragma once

#include <map>
#include <vector>

#include "alerts/metric.h"
#include "engine/engine.h"
#include "model/execution.h"
#include "model/task.h"

namespace takt::internal {

class LateRuns {
  public:
    // Below this nobody was ever called late.
    static constexpr Duration kLateMin{1'000};
    // Tasks with a slip that are remembered. Beyond, they are late all the same while they wait.
    static constexpr std::size_t kSlipsMax = 10'000;

    // Tasks that are said to be late at once, of each kind those that are so for longest. When so many
    // are, it is not about a task any more.
    static constexpr std::size_t kLateMax = 10'000;

    // A row of an execution was committed.
    void Note(const Execution& row);
    // An earlier leader had an alert about this due time, and it is not known to be over. `late` is
    // how late the run began; 0: it was not seen to begin.
    void Adopt(const Text& task, Time due, Duration late);
    void Clear() { slips_.clear(); }

    // Appends a reading for every task that is late.
    void Read(const Engine& engine, Time now, AlertReadings& readings);

    // From the rows alone, as a follower sees them: only what was not fired. `grace` is what the
    // leader is given to say it first.
    static void ReadRows(const std::vector<TaskRow>& rows, Time now, Duration grace,
                         AlertReadings& readings);

  private:
    struct Slip {
        Time due{};
        Duration late{0};  // How late it began; 0: it did not happen, and gets later.
    };
    // The task's reading, if it is late.
    void Judge(const TaskView& task, Time now, AlertReadings& readings) const;

    std::map<Text, Slip, std::less<>> slips_;  // By task.
};

}  // namespace takt::internal
