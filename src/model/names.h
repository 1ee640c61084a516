// Names of enumerators, for the sources of this folder: a table in the order of the enumerators.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/check.h"

namespace takt::internal::names {

template <typename Enum, std::size_t kCount>
std::string_view Find(const std::array<std::string_view, kCount>& table, Enum value) {
    const auto index = static_cast<std::size_t>(value);
    TAKT_CHECK(index < kCount);
    return table[index];
}

template <typename Enum, std::size_t kCount>
std::optional<Enum> Parse(const std::array<std::string_view, kCount>& table,
                          std::string_view name) {
    for (std::size_t i = 0; i < kCount; ++i) {
        if (table[i] == name) return static_cast<Enum>(i);
    }
    return std::nullopt;
}

}  // namespace takt::internal::names
