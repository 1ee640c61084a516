// Trials: which execution is to blame for workers that die.
//
// Of all that was with a worker that died, one may be what killed it, and the rest is not. So what has
// lost all but one of losses_max workers is a suspect. Suspects begin one after the other, some time
// apart, and when a worker dies that had some, only one of them is blamed. A payload that kills does so
// after about as long each time, be it at once or in half a minute; what is beside it began apart from
// it, and so dies after another time than before. The one that ran as long as before its earlier losses
// is blamed, if that was so more than once and is true of no other as much.
//
// What began after the killer must not be as long after it again: it would look as guilty. So what had
// run for the shortest time when it last lost a worker begins first. Of any two, the one that began
// later then begins earlier now, and this time has run for longer by all that lies between them. For
// that they stand in a line, which forms for a moment before the first one begins.
//
// If there is no such one, nothing tells suspects apart yet. They are spared, but this death is among
// what they are compared with at the next one; a few times.
//
// There may be several that kill, and what is on trial is beside some that are not yet. What may as
// well have been it takes the loss in the suspect's place, and so becomes a suspect itself: what ran
// as long as when it lost workers before, or, if it never did, what began in the same moment as the
// suspect or met one that had never run for so long when it lost a worker. Nothing is kept back for
// this: after a power cut everything has one loss, and all of it begins at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

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
    // For so long the line forms: a worker's whole hand is to be in it.
    static constexpr Duration kForms{100};

    // `config` outlives it.
    explicit Trials(const EngineConfig& config) : config_(config) {}

    // If one loss is enough there is nothing to find out.
    bool IsSuspect(const Execution& row) const {
        return row.losses > 0 && row.losses + 1 >= config_.losses_max;
    }
    // Until when an execution that could begin now has to stand in the line, if it has to.
    std::optional<Steady> PutOff(const Execution& row, Steady now);
    // A suspect begins on one of so many workers that take something.
    void NoteBegun(const Execution& row, std::size_t workers, Steady now);
    // A suspect has begun under another leader, nobody knows when.
    void NoteTakenOver(Steady now);
    // It waits no more, or its attempt is over. Whether the next one need not wait for it any longer.
    bool NoteOver(const Execution& row, Steady now);

    // The suspects that stand in the line, the first first.
    using Line = std::map<std::uint64_t, ExecutionId>;
    const Line& line() const { return line_; }
    // When the one with so many before it may begin, at the earliest, if the first may at `first`.
    Time PlaceAt(Time first, std::size_t before) const;
    // Where it stands: by how long it ran when it last lost a worker, then by priority, then by
    // age. All serials of an engine have the same partition, whose bits make room, as do years'.
    static std::uint64_t OrderOf(const Execution& row);

    // A worker died with what is doubtful in its hand: spares all but the suspect that is to blame. If
    // there is no suspect, nobody is spared. Who may be blamed by a leader that goes on with a part of
    // the hand only comes last.
    void Judge(LiveList& hand, Time now) const;

  private:
    const EngineConfig& config_;
    Steady next_at_ = Steady::min();
    Duration apart_ = kApart;  // As of the last one that began.
    ExecutionId last_;         // It, while it runs.
    Line line_;
};

}  // namespace takt::internal
