// The parts of Locks: locks, those who hold permits of them, those who stand in line.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "engine/draft.h"
#include "engine/input.h"
#include "engine/live.h"
#include "engine/timer_heap.h"
#include "model/lock.h"

namespace takt::internal {

struct Lock;
struct LockHeld;

struct LockPart {
    Lock* lock = nullptr;
    std::uint32_t permits = 1;
};

// Somebody who stands in line, for one lock or for several at once: a client, the handler of an
// attempt, or an execution that declares them. Waits in the timer heap for the end of its patience.
struct LockRequest : Timer {
    std::uint8_t priority = 0;
    Time since{};       // With `serial` its age.
    Serial serial = 0;  // Its own, or the execution's that declares the locks.
    std::vector<LockPart> parts;
    Steady asked_at{};
    RequestId request = 0;     // A client's,
    std::uint64_t caller = 0;  // and which of those with its request_id.
    SessionId session = 0;     // A handler's,
    std::uint64_t ask = 0;     // whose number for it is this.
    Live* live = nullptr;      // A handler's attempt, or the execution that declares the locks.
    Text owner;
    Text request_id;
    Duration ttl{0};
    Duration wait{0};
    bool kept = false;  // Out of the lines: its permits are set aside until it has a worker.

    bool declared() const { return live && ask == 0; }
};

// The one order for all locks: priority, then age.
struct LockOrder {
    bool operator()(const LockRequest* a, const LockRequest* b) const {
        return std::tuple(b->priority, a->since, a->serial) <
               std::tuple(a->priority, b->since, b->serial);
    }
};

struct Lock {
    Text name;
    std::uint32_t permits = 1;
    std::uint32_t taken = 0;  // Held, or set aside.
    std::set<LockRequest*, LockOrder> line;
    std::map<std::uint64_t, LockHeld*> holders;  // By token.
    bool dirty = false;                          // To be looked at: see Locks::ServeNext.

    bool Has(std::uint32_t wanted) const { return taken + wanted <= permits; }
};

// A holding: its row and its place. Waits in the timer heap for the end of its lease.
struct LockHeld : Timer {
    LockHolding row;
    std::vector<Lock*> locks;  // Of the row's grants, in their order.
    Live* live = nullptr;      // Whose attempt has it; null for a lease, or if the attempt is over.
    std::uint64_t ask = 0;     // If its handler asked for it.
    Time expires_at{};         // By the wall clock, for people.
    Serial order = 0;
    ChangeMark mark;
};

}  // namespace takt::internal
