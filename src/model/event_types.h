// Types of events by their names and by the names of their groups: task.failed, or task for all of
// them.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/event.h"

namespace takt::internal {

// Bits by EventType. 0: there is neither a type nor a group of that name.
std::uint32_t EventTypesNamed(std::string_view name);

}  // namespace takt::internal
