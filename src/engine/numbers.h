// Numbers as the engine writes them into its settings: in decimal, parted by single spaces.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

namespace takt::internal {

// Reads the numbers that stand in `text`; false unless there are exactly enough.
template <std::size_t kCount>
bool ReadNumbers(std::string_view text, std::array<std::int64_t, kCount>& numbers) {
    for (std::int64_t& number : numbers) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc()) return false;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        if (text.starts_with(' ')) text.remove_prefix(1);
    }
    return text.empty();
}

}  // namespace takt::internal
