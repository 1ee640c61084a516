// Circles of executions that wait for each other are found, and broken at a step.
#include <algorithm>
#include <utility>

#include "base/failpoint.h"
#include "engine/circles.h"
#include "engine/engine.h"

namespace takt::internal {
namespace {

// Looking at an execution costs a step as much as writing this.
constexpr std::size_t kLookBytes = 16;

// A circle mostly closes when somebody begins to wait, and is looked for then. It may also close when
// a limit is lowered, an attempt ends or a client gives a lock back: so steps that go on waiting are
// looked at again after this.
constexpr Duration kLookAgain{5'000};

// A look at so many executions is followed by a millisecond without one: where thousands wait under a
// limit and each end lets another begin to wait, looking takes a few percent of the time.
constexpr std::size_t kLooksPerMs = 100;

bool WaitsForOthers(const Live& live) {
    return !live.finished && (live.waits == Waits::kTurn || live.waits == Waits::kLimit ||
                              live.waits == Waits::kLock);
}

}  // namespace

// An execution has begun to wait for its turn, a permit or a lock. If it is a step, that may close a
// circle.
void Engine::WatchForCircle(Live& live) {
    if (!ParentOf(live) || live.watched || TAKT_MUTANT("engine.wait_in_circles")) return;
    live.watched = true;
    circles_.steps.push_back(live.row.id);
    circles_.look_at = std::min(circles_.look_at, std::max(now_.steady, circles_.rest_until));
}

// The step fails for good: a retry would wait again while its run holds what others wait for. That
// one goes on, or ends, as its `on_failure` says.
void Engine::BreakCircles() {
    if (draft_.Tired() || now_.steady < circles_.look_at) return;
    std::vector<Live*> waiting;
    std::erase_if(circles_.steps, [&](const ExecutionId& id) {
        Live* live = FindLive(id);
        if (!live) return true;
        live->watched = WaitsForOthers(*live);
        if (live->watched && MayCloseCircle(*live)) waiting.push_back(live);
        return !live->watched;
    });
    circles_.look_at = circles_.steps.empty() ? Steady::max() : now_.steady + kLookAgain;
    if (waiting.empty()) return;
    Circle circle = FindCircle(waiting, holds_, locks_);
    circles_.rest_until = now_.steady + Duration(circle.looked_at / kLooksPerMs);
    draft_.Spend(circle.looked_at * kLookBytes);
    if (!circle.step) return;
    circles_.look_at = circles_.rest_until;  // There may be another one.
    Unqueue(*circle.step);
    FinishExecution(*circle.step, Status::kFailed,
                    MakeOutcome(Reason::kStepRefused, Text(std::move(circle.why))));
}

}  // namespace takt::internal
