// Numbers from text.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace takt::internal {

// The whole of `text` as a decimal number; nothing if it is not one or does not fit.
template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

}  // namespace takt::internal
