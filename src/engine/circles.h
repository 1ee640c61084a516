// Circles: executions that wait for each other, and so would for ever.
//
// A run holds its turn, its permit and its locks until it ends, and it ends after its last child. If
// a child waits for what another run holds, and a child of that one, perhaps through others, for what
// the first holds, none of them ever goes on. A circle is closed by an execution that begins to wait:
// a run that takes something has no children yet. (Or when others come to be waited for: a limit is
// lowered, a lock is kept for the first in its line, a step needs the last of its children.) So it is
// looked for then, among those that the execution waits for and no others, and broken at one of its
// steps, as a database breaks a deadlock.
#pragma once

#include <cstddef>
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

// The circle that the execution is in; it is the step to fail, if it is one.
Circle FindCircle(Live& live, const Holds& holds, const Locks& locks);

}  // namespace takt::internal
