// JSON by its grammar alone, to tell what we cannot keep from what is no JSON.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/json.h"

namespace takt::internal {

enum class JsonGrammar : std::uint8_t {
    kStrict,
    // Also slips of programs that write JSON by hand: NaN and Infinity, a comma before the end of a
    // list, control characters and bytes that are not UTF-8 in a text, a byte order mark.
    kLenient,
};

// Takes also what ParseJson refuses for what is in it: an integer beyond 64 bits, half of a
// surrogate pair, a key that comes twice, values that are nested however deep. The value is good for
// a look, not to be kept: what is nested deeper than 32 is null in it.
std::optional<boost::json::value> ParseByGrammar(std::string_view text, std::size_t bytes_max,
                                                 JsonGrammar grammar = JsonGrammar::kStrict);

}  // namespace takt::internal
