// Enums and the names that the REST API has for them, in the order of their values.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace takt {

template <typename Enum, std::size_t kCount>
std::string_view NameFrom(const std::array<std::string_view, kCount>& names, Enum value) {
    const auto index = static_cast<std::size_t>(value);
    return index < kCount ? names[index] : std::string_view("unknown");
}

template <typename Enum, std::size_t kCount>
std::optional<Enum> NamedIn(const std::array<std::string_view, kCount>& names,
                            std::string_view name) {
    for (std::size_t i = 0; i < kCount; ++i) {
        if (names[i] == name) return static_cast<Enum>(i);
    }
    return std::nullopt;
}

}  // namespace takt
