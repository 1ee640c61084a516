// Points of charts as they are kept for the next leader: whole numbers parted by spaces, "-" for none.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace takt::internal {

using PointNumber = std::optional<std::int64_t>;

// Hundredths of a millisecond are enough for a chart.
inline PointNumber InHundredths(const std::optional<double>& value) {
    if (!value) return std::nullopt;
    return std::llround(*value * 100);
}
inline std::optional<double> OfHundredths(const PointNumber& number) {
    if (!number) return std::nullopt;
    return static_cast<double>(*number) / 100;
}

inline void AppendNumber(std::string& text, const PointNumber& number) {
    text += number ? std::to_string(*number) : "-";
    text += ' ';
}

// Cuts `rest` at the first `end` and gives what is before it.
inline std::string_view TakeUntil(std::string_view& rest, char end) {
    const std::string_view part = rest.substr(0, rest.find(end));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    return part;
}

// The next number of a line. False if there is none, or something else.
inline bool TakeNumber(std::string_view& line, PointNumber& number) {
    const std::string_view word = TakeUntil(line, ' ');
    if (word == "-") {
        number.reset();
        return true;
    }
    const auto [end, error] =
        std::from_chars(word.data(), word.data() + word.size(), number.emplace());
    return error == std::errc() && end == word.data() + word.size();
}

}  // namespace takt::internal
