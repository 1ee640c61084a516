// EngineQuestion: what the engine cannot answer before the store has been asked.
#pragma once

#include <cstdint>
#include <variant>

#include "base/id.h"
#include "engine/input.h"
#include "engine/run_values.h"

namespace takt::internal {

// An attempt that a worker brings along, and that is not its own any more.
struct Claimed {
    SessionId session = 0;
    AttemptRef attempt;
};
// A run needs the result of a child that is finished.
struct ResultWanted {
    ExecutionId run;
    ChildPlace place;
};
// A backfill needs to know whether a due time has its execution already.
struct DueWanted {
    ExecutionId run;
    std::uint32_t step = 0;
    std::uint32_t index = 0;
    ExecutionId id;
};
// A question about an id that the engine does not hold, until the store has been asked.
using EngineQuestion = std::variant<Submit, Cancel, Redrive, Conclude, PutTask, Trigger, Report,
                                    Claimed, ResultWanted, DueWanted>;

}  // namespace takt::internal
