// Trials: which execution is to blame for workers that die.
//
// Of all that was with a worker that died, one may be what killed it, and the rest is not. So what has
// lost all but one of losses_max workers is a suspect. Suspects begin one after the other, some time
// apart, and when a worker dies that had some, only the one that began last is blamed: a payload that
// kills whatever touches it is found, and what was beside it is not failed for it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "base/time.h"
#include "engine/config.h"
#include "engine/live.h"
#include "model/execution.h"

namespace takt::internal {

class Trials {
  public:
    // Between two suspects on one worker: most payloads that kill do so at once. More workers take
    // more at a time.
    static constexpr std::chrono::seconds kApart{10};

    // `config` outlives it.
    explicit Trials(const EngineConfig& config) : config_(config) {}

    // If one loss is enough there is nothing to find out.
    bool IsSuspect(const Execution& row) const {
        return row.losses > 0 && row.losses + 1 >= config_.losses_max;
    }
    // From when on the execution may begin.
    Steady BeginAt(const Execution& row) const { return IsSuspect(row) ? next_at_ : Steady::min(); }
    // It begins on one of so many workers.
    void Note(const Execution& row, std::size_t workers, Steady now) {
        if (!IsSuspect(row)) return;
        next_at_ = now + Duration(kApart) / std::max<Duration::rep>(1, Duration::rep(workers));
    }
    // A worker died with what is doubtful in its hand: spares all but the suspect that began last. If
    // there is no suspect, nobody is spared.
    void Judge(const LiveList& hand) const;

  private:
    const EngineConfig& config_;
    Steady next_at_ = Steady::min();
};

}  // namespace takt::internal
