// JSON Schemas of what the API takes and gives, by name. That of a task is made from its fields.
#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace takt::internal {

std::span<const std::pair<std::string_view, std::string_view>> Schemas();

}  // namespace takt::internal
