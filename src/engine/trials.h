// Trials: which execution is to blame for workers that die.
//
// Of all that was with a worker that died, one may be what killed it, and the rest is not. So what has
// lost all but one of losses_max workers is a suspect. Suspects begin one after the other, some time
// apart, and when a worker dies that had some, only one of them is blamed. A payload that kills does so
// after about as long each time, be it at once or in half a minute; what is beside it began apart from
// it, and so dies after another time than before. The one that ran as long as before its earlier losses
// is blamed; of several of which that is true, the one of which it is true of the most losses, and of
// those the one that began last.
//
// There may be several that kill, and what is on trial is beside some that are not yet. What may as
// well have been it takes the loss in the suspect's place, and so becomes a suspect itself: what ran
// as long as when it lost workers before, or, if it never did, what began in the same moment as the
// suspect or met one that had never run for so long when it lost a worker. Nothing is kept back for
// this: after a power cut everything has one loss, and all of it begins at once.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "engine/config.h"
#include "engine/live.h"
#include "model/execution.h"
#include "model/task.h"

namespace takt::internal {

// Of a past attempt that was lost: another one is blamed for the death of its worker.
constexpr Reason kLostBeside = Reason::kWorkerLost;

class Trials {
  public:
    // Between two suspects on one worker: more than what two deaths of one payload differ by. More
    // workers take more at a time.
    static constexpr std::chrono::seconds kApart{10};

    // `config` outlives it.
    explicit Trials(const EngineConfig& config) : config_(config) {}

    // If one loss is enough there is nothing to find out.
    bool IsSuspect(const Execution& row) const {
        return row.losses > 0 && row.losses + 1 >= config_.losses_max;
    }
    // From when on the execution may begin.
    Steady BeginAt(const Execution& row) const { return IsSuspect(row) ? next_at_ : Steady::min(); }
    // A suspect begins on one of so many workers that take something.
    void NoteBegun(std::size_t workers, Steady now) {
        next_at_ = now + Duration(kApart) / std::max<Duration::rep>(1, Duration::rep(workers));
    }
    // In which order those begin that have waited for the same time: by priority, then by age. All
    // serials of an engine have the same partition, whose bits make room.
    static std::uint64_t OrderOf(const Execution& row) {
        const std::uint64_t after = kPriorityMax - row.task->priority;
        return after << 59 | row.serial >> 22 << 14 | (row.serial & ((1u << 14) - 1));
    }
    // A worker died with what is doubtful in its hand: spares all but the suspect that is to blame. If
    // there is no suspect, nobody is spared.
    void Judge(const LiveList& hand, Time now) const;

  private:
    const EngineConfig& config_;
    Steady next_at_ = Steady::min();
};

}  // namespace takt::internal
