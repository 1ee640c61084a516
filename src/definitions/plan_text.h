// A plan for people and for scripts.
#pragma once

#include <string>

#include "definitions/plan.h"

namespace takt::internal {

enum class PlanMark : std::uint8_t { kCreate, kChange, kDelete, kNote };
// How a line is told from others on a terminal; gives the text as it is to be printed.
using PaintLine = std::string (*)(const std::string& line, PlanMark mark);

// "task nightly", "queue mail in billing"
std::string ThingText(const ThingKey& key);

// A line for each step, with its fields, `old → new`, and one that counts them.
std::string PlanText(const Plan& plan, PaintLine paint);

// {"owner", "steps": [{"action", "kind", "namespace", "name", "changes": […]}], …}
std::string PlanJson(const Plan& plan, const PlanRules& rules);

}  // namespace takt::internal
