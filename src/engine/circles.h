// Circles: executions that wait for each other, and so would for ever.
//
// A run holds its turn, its permit and its locks until it ends, and it ends after its last child. If
// a child waits for what another run holds, and a child of that one, perhaps through others, for what
// the first holds, none of them ever goes on. Each circle has a step that waits, so steps that begin
// to wait are watched for as long as they do, and a circle is broken at one of them, as a database
// breaks a deadlock.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/holds.h"
#include "engine/live.h"
#include "engine/locks.h"

namespace takt::internal {

// The executions that hold what an execution waits for. Empty if it waits for none, or for somebody or
// something that is not an execution: a worker, a time, a client.
std::vector<const Live*> BlockersOf(const Live& live, const Holds& holds, const Locks& locks);

// Whether an execution that waits may be in a circle at all: it, or a run that it is in, holds
// something. Cheap, and errs on the side of yes.
bool MayCloseCircle(const Live& live);

struct Circle {
    Live* step = nullptr;  // The execution of a step that is to fail; null: there is no circle.
    std::string why;       // For people: who waits for what of whom, this step first.
    std::size_t looked_at = 0;  // Executions.
};

struct CircleWatch {
    std::vector<ExecutionId> steps;  // That wait.
    Steady look_at = Steady::max();  // When they are looked at, …
    Steady rest_until{};             // … and not before this.
};

// A circle among those that are waited for, if there is one; of its steps the one that comes last in
// `waiting` is to fail.
Circle FindCircle(std::span<Live* const> waiting, const Holds& holds, const Locks& locks);

}  // namespace takt::internal
