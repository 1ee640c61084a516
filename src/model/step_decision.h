// Decisions about the steps of a run. Pure: the graph and the steps' states in, a decision out; the
// engine carries it out (engine/flow_*.cc). Nothing here knows of workers, stores or times.
#pragma once

#include <cstdint>
#include <string>

#include "model/run_progress.h"
#include "model/workflow.h"

namespace takt::internal {

struct StepDecision {
    enum class What : std::uint8_t { kWait, kBegin, kSkip };
    What what{};
    bool by_failure = false;  // Of kSkip: a failure is why.
    std::string why;          // Of kSkip, a sentence.
};

// Whether a step that waits begins now. In a run that ends nothing begins but, if it ends because a
// step failed and all that went on has ended, what cleans up: any_failed and all_done.
StepDecision DecideBegin(const Workflow& workflow, const RunProgress& progress, std::uint32_t step);

// Whether a step that runs is over, or can no more succeed.
enum class StepVerdict : std::uint8_t {
    kGoesOn,
    kDoomed,     // It goes on, but cannot succeed any more.
    kSucceeded,  // Also if some of its children still go on: they are ended.
    kFailed,
};
StepVerdict DecideEnd(const WorkflowStep& step, const StepProgress& progress);

// How the run ends when all of its steps are over. A sentence says why if it failed.
struct RunDecision {
    Status status{};
    std::string why;
};
RunDecision DecideRun(const Workflow& workflow, const RunProgress& progress);

// "step 'load' failed", and why if that is known.
std::string DescribeFailure(const Workflow& workflow, const RunProgress& progress,
                            std::uint32_t step);

// A retry: what has no success waits again, in a new round; what succeeded stays, unless it is named
// in `again` or comes after such a step. kInvalid if a name is none of the steps'.
Result<void> BeginRound(const Workflow& workflow, std::span<const Text> again,
                        RunProgress& progress);

}  // namespace takt::internal
