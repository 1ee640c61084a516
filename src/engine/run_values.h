// Values of a run: results that are in memory, and what they make of a step's payload, list and
// condition. Knows nothing of the store; whoever needs a result that is not here asks for it first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "engine/run.h"

namespace takt::internal {

// Whether a step has a result that others may take values from.
bool HasResult(const WorkflowStep& step, const StepProgress& progress);

// Keeps the result of a child, whatever its size; CacheResult only if a later step may want it and
// there is room.
void KeepResult(Run& run, const ChildPlace& place, const Text& data);
void CacheResult(Run& run, const ChildPlace& place, const Text& data);
void DropResults(Run& run);

void KeepWhatFits(Run& run, std::uint32_t number, std::size_t& bytes);

// REQUIRES of all below: the results that the step takes values from are kept, of ResultOfRun those of
// the last steps.
std::optional<std::string> ResultOf(const Run& run, std::uint32_t number);
std::string ReferenceTo(const Run& run, std::uint32_t number);
// kInvalid if what it asks about is given by reference.
Result<bool> ConditionHolds(const Run& run, std::uint32_t number);
// Reads the list that the step's children are made of, one for each item. kInvalid if it is none.
Result<void> ListItems(Run& run, std::uint32_t number);
// kNotFound if a value is not there, kInvalid if the payload is too large.
Result<Text> PayloadOf(Run& run, std::uint32_t number, std::uint32_t index);
Text ResultOfRun(const Run& run);

}  // namespace takt::internal
