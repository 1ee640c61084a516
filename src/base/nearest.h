// The known name that a mistyped one was probably meant to be, for "did you mean …?".
#pragma once

#include <span>
#include <string_view>

namespace takt::internal {

// Counts insertions, deletions, replacements and swaps of neighbours. Empty if no known name is
// near: a third of the letters wrong is a slip, more is another word. A name longer than any of
// ours is near to none, so a stranger's costs nothing.
std::string_view NearestName(std::string_view unknown, std::span<const std::string_view> known);

}  // namespace takt::internal
