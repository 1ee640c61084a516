// The names that a namespace may have. Here, so that a worker can check its own without the rest of
// what the scheduler knows of namespaces.
#pragma once

#include <algorithm>
#include <string_view>

namespace takt::internal {

inline bool IsSpaceName(std::string_view name) {
    const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
    return !name.empty() && name.size() <= 63 && plain(name.front()) &&
           std::ranges::all_of(name, [&](char c) { return plain(c) || c == '-'; });
}

}  // namespace takt::internal
