// Words in texts, and values in parameters, as a search finds them.
#pragma once

#include <string_view>

namespace takt::internal {

// Of A to Z; anything else is what it is.
constexpr char SmallLetter(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Whether `text` contains `small`, A to Z without regard to case.
// REQUIRES: `small` is in small letters.
bool HasWords(std::string_view text, std::string_view small);

// Whether a text, number, true, false or null in `parameters` contains `small`, A to Z without regard
// to case; with a '=' in it, also its path and value, "order.customer=4711". Names alone do not count:
// every run of a task has the same. Parameters that are not JSON are searched as they are.
// REQUIRES: `small` is in small letters and not empty.
bool HasValue(std::string_view parameters, std::string_view small);

// Whether the value at `path` is `value`, letter by letter: a text's content, anything else as it was
// written. A path names members, from the outermost on, parted by dots; elements of lists have no name
// of their own, so "lines.sku" is that of any line.
bool HasValueAt(std::string_view parameters, std::string_view path, std::string_view value);

}  // namespace takt::internal
