// Names of enums, written: every enum of this library that has a Name can be put into a stream, into
// std::format (where the standard library has it) and into fmt::format (fmt 10 and later).
//
//     std::cout << run->status << "\n";        // success
//     std::format("{:>10}", run->status);      // "   success"
#pragma once

#include <iosfwd>
#include <string_view>
#include <version>

#ifdef __cpp_lib_format
#include <format>
#endif

namespace takt {

// Whether an enum has a Name here; said beside it.
template <typename Enum>
inline constexpr bool kHasName = false;

template <typename Enum>
concept Named = kHasName<Enum>;

template <Named Enum, typename Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, Enum value) {
    return out << Name(value);
}

template <Named Enum>
std::string_view format_as(Enum value) {
    return Name(value);
}

}  // namespace takt

#ifdef __cpp_lib_format
template <takt::Named Enum>
struct std::formatter<Enum, char> : std::formatter<std::string_view, char> {
    template <typename Context>
    auto format(Enum value, Context& context) const {
        return std::formatter<std::string_view, char>::format(Name(value), context);
    }
};
#endif
