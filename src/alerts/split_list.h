// Lists in one text: "a, b,c".
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace takt::internal {

// The items between the commas, without space around them; empty ones are left out.
inline std::vector<std::string> SplitList(std::string_view text) {
    std::vector<std::string> items;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        std::string_view item = text.substr(0, comma);
        while (item.starts_with(' ')) item.remove_prefix(1);
        while (item.ends_with(' ')) item.remove_suffix(1);
        if (!item.empty()) items.emplace_back(item);
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return items;
}

}  // namespace takt::internal
