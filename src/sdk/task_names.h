// The names of a task's enums in the REST API.
#pragma once

#include "sdk/enum_names.h"

namespace takt {

inline constexpr std::array<std::string_view, 4> kModes = {"sequential", "parallel", "skip",
                                                           "replace"};
inline constexpr std::array<std::string_view, 3> kMisfires = {"fire_once", "fire_all", "skip"};
inline constexpr std::array<std::string_view, 3> kDsts = {"once", "skip", "twice"};
inline constexpr std::array<std::string_view, 5> kWhens = {"all_success", "any_success", "all_done",
                                                           "any_failed", "none_failed"};
inline constexpr std::array<std::string_view, 2> kOnFailures = {"stop", "continue"};

}  // namespace takt
