// Names of namespaces as one text with spaces between them, which no name has.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace takt::internal {

inline std::string JoinNames(const std::vector<Text>& names) {
    std::string text;
    for (const Text& name : names) text += (text.empty() ? "" : " ") + name.str();
    return text;
}

inline std::vector<Text> SplitNames(std::string_view text) {
    std::vector<Text> names;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        if (end > 0) names.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return names;
}

}  // namespace takt::internal
