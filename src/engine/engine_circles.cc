// Circles of executions that wait for each other are found when they close, and broken at a step.
#include <utility>

#include "base/failpoint.h"
#include "engine/circles.h"
#include "engine/engine.h"

namespace takt::internal {
namespace {

// Looking at an execution costs a step as much as writing this.
constexpr std::size_t kLookBytes = 64;

}  // namespace

// An execution has begun to wait for its turn, a permit or a lock: that may close a circle. It is
// looked for when the step has settled all else, and by a new leader when it has placed everything.
void Engine::SuspectCircle(const Live& live) {
    if (!MayCloseCircle(live) || TAKT_MUTANT("engine.wait_in_circles")) return;
    // A run that has begun waits for what its children wait for.
    const bool begun = IsRun(live) && Begun(live.row);
    if (!begun && BlockersOf(live, holds_, locks_).empty()) return;
    suspects_.push_back(live.row.id);
}

// All that waits for a permit of the limit does so since its maximum was lowered.
void Engine::SuspectWaiters(const Hold& limit) {
    for (const auto& [place, line] : limit.lines) {
        for (const Live* live = line->waiting.front(); live; live = live->next) {
            SuspectCircle(*live);
        }
    }
}

// The step fails for good: a retry would wait again while its run holds what others wait for. That one
// goes on, or ends, as its `on_failure` says.
void Engine::BreakCircles() {
    for (; !draft_.Tired() && !suspects_.empty(); suspects_.pop_front()) {
        Live* live = FindLive(suspects_.front());
        if (!live || live->finished) continue;
        Circle circle = FindCircle(*live, holds_, locks_);
        draft_.Spend(circle.looked_at * kLookBytes);
        if (!circle.step) continue;
        Unqueue(*circle.step);
        FinishExecution(*circle.step, Status::kFailed,
                        MakeOutcome(Reason::kStepRefused, Text(std::move(circle.why))));
    }
}

}  // namespace takt::internal
