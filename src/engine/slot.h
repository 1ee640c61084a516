// Slot: a worker as the engine holds it: who it is, what it has in hand, what it can take.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "engine/config.h"
#include "engine/input.h"
#include "engine/live.h"
#include "engine/timer_heap.h"
#include "model/worker.h"

namespace takt::internal {

class Crew;
struct Offer;

// Waits in the timer heap for the end of its lease, or, offline, for being forgotten.
struct Slot : Timer {
    Worker row;
    WorkerLoad load;
    SessionId session = 0;    // 0 while it is not connected.
    std::uint64_t order = 0;  // In which workers joined.
    LiveList hand;
    LiveList pinned;  // Executions that wait for this worker and no other.
    // Attempts that were settled without the worker (cancelled, timed out): it has been told to stop
    // them, but until it says that it did, each takes up room there.
    std::vector<AttemptRef> lingering;
    std::vector<Crew*> crews;  // Of the lanes that it serves.
    Offer* offer = nullptr;    // Once it is known what it serves. In engine/offers.h.
    ChangeMark mark;
    bool can_take = false;  // As its crews know.
    bool doubt_is_loss =
        false;                // What is doubtful in its hand died with it, rather than never came.
    bool gone = false;        // Those that wait for it wait in vain.
    bool leaving = false;     // Forgotten as soon as its hand is empty.
    bool unfinished = false;  // More to be done for it than one step may do.

    // Whether it takes something new once it has room.
    bool works() const {
        return session != 0 && !load.draining && row.status == WorkerStatus::kOnline;
    }
    std::uint32_t busy() const {
        return static_cast<std::uint32_t>(hand.size() + lingering.size());
    }
};

// Whether the worker is of the kind that the lane asks for, online or not.
bool Serves(const Worker& worker, const Lane& lane);
// Whether two workers of one id serve the same lanes, whichever there are.
bool SameOffer(const Worker& a, const Worker& b);
// How long an offline worker is remembered; never so short that looking again is at once.
Duration ForgottenAfter(const EngineConfig& config);
// As the audit names it.
AuditTarget TargetOf(const Worker& row);

}  // namespace takt::internal
