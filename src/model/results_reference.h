// References to results: what stands in place of a step's results where these are too large, or would
// be nested too deep. Whoever is given one reads them piece by piece.
//
//   {"$results": {"step": "transform", "count": 5000}}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace takt::internal {

void WriteResultsReference(JsonWriter& json, std::string_view step, std::uint32_t count);

// The step whose results the value stands for; nothing if it is no reference. FindReferred also if one
// is anywhere in it. REQUIRES: CheckJson accepts `json`.
std::optional<std::string> ReferredStep(std::string_view json);
std::optional<std::string> FindReferred(std::string_view json);

// For people: "results of step 'transform' are too large, …".
std::string GivenByReference(std::string_view step);

}  // namespace takt::internal
