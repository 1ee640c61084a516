// JSON by its grammar alone, to tell what we cannot keep from what is no JSON.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string_view>

#include "base/json.h"

namespace takt::internal {

// Takes also what ParseJson refuses for what is in it: an integer beyond 64 bits, half of a
// surrogate pair, a key that comes twice. The value is good for a look, not to be kept.
std::optional<boost::json::value> ParseByGrammar(std::string_view text,
                                                 const JsonLimits& limits = {});

}  // namespace takt::internal
