// Trials: which execution is to blame for workers that die.
//
// Whatever was with a worker that died may be what killed it, and most of it is not. So what has lost
// all but one of losses_max workers is a suspect. Suspects begin one after the other, some time
// apart, and when a worker dies that had some, only the one that began last is blamed: a payload that
// kills whatever touches it is found, and what was beside it is not failed for it.
#pragma once

#include <chrono>

#include "base/time.h"
#include "engine/config.h"
#include "engine/live.h"
#include "model/execution.h"

namespace takt::internal {

class Trials {
  public:
    // What kills its worker mostly does so at once; and who waits for a trial waits this long for each
    // suspect before it.
    static constexpr std::chrono::seconds kApart{10};

    // `config` outlives it.
    explicit Trials(const EngineConfig& config) : config_(config) {}

    // Where one loss is enough there is nothing to find out.
    bool IsSuspect(const Execution& row) const {
        return row.losses > 0 && row.losses + 1 >= config_.losses_max;
    }
    // From when on the execution may begin.
    Steady BeginAt(const Execution& row) const { return IsSuspect(row) ? next_at_ : Steady::min(); }
    // It begins.
    void Note(const Execution& row, Steady now) {
        if (IsSuspect(row)) next_at_ = now + kApart;
    }
    // A worker died with what is doubtful in its hand: spares all but the suspect that began last. If
    // there is no suspect, nobody is spared.
    void Judge(const LiveList& hand) const;

  private:
    const EngineConfig& config_;
    Steady next_at_ = Steady::min();
};

}  // namespace takt::internal
