// JSON Schemas of what the API takes and gives, by name. Those of resources are made from the
// tables of their fields.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace takt::internal {

std::span<const std::pair<std::string_view, std::string>> Schemas();

// From the tables that stand beside the routes.
std::string AlertRuleSchema();
std::string NewTokenSchema();
std::string QueueSchema();
std::string TokenSchema();

}  // namespace takt::internal
