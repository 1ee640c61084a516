// UTF-8, as far as we need it: what is valid, and where text may be cut.
#pragma once

#include <cstddef>
#include <string_view>

namespace takt::internal {

// The bytes of the character at the front of `text`: 1 to 4, or 0 if no valid one begins there
// (surrogates, overlong forms and what is above U+10FFFF are not valid). REQUIRES: not empty.
std::size_t Utf8Length(std::string_view text);

bool IsValidUtf8(std::string_view text);

// The longest beginning of at most `bytes_max` bytes that does not cut a character in two.
std::string_view CutUtf8(std::string_view text, std::size_t bytes_max);

}  // namespace takt::internal
