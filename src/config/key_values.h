// How a value of each type is written in flags, files and variables: read, shown, and what its kind
// is called in docs/configuration.md.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/time.h"
#include "model/task.h"

namespace takt::internal::key_values {

// kInvalid says what the value must be; then `value` is as before, or for maps empty.
Result<void> Read(std::string_view text, std::string& value);
Result<void> Read(std::string_view text, bool& value);
Result<void> Read(std::string_view text, Duration& value);
Result<void> Read(std::string_view text, double& value);
Result<void> Read(std::string_view text, std::vector<std::string>& value);
Result<void> Read(std::string_view text, std::map<std::string, std::string>& value);
Result<void> Read(std::string_view text, std::vector<std::map<std::string, std::string>>& value);
Result<void> Read(std::string_view text, Strategy& value);
Result<void> Read(std::string_view text, LogLevel& value);
Result<void> Read(std::string_view text, LogFormat& value);
template <std::unsigned_integral Number>
Result<void> Read(std::string_view text, Number& value) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
        return Fail(ErrorCode::kInvalid, "must be a whole number from 0 to " +
                                             std::to_string(std::numeric_limits<Number>::max()));
    }
    value = number;
    return {};
}

// As Read takes it.
std::string Show(const std::string& value);
std::string Show(bool value);
std::string Show(Duration value);
std::string Show(double value);
std::string Show(const std::vector<std::string>& value);
std::string Show(const std::map<std::string, std::string>& value);
std::string Show(const std::vector<std::map<std::string, std::string>>& value);
std::string Show(Strategy value);
std::string Show(LogLevel value);
std::string Show(LogFormat value);
template <std::unsigned_integral Number>
std::string Show(Number value) {
    return std::to_string(value);
}

template <typename T>
constexpr std::string_view kKind = "text";
template <>
constexpr std::string_view kKind<bool> = "yes or no";
template <>
constexpr std::string_view kKind<Duration> = "duration";
template <>
constexpr std::string_view kKind<std::uint32_t> = "number";
template <>
constexpr std::string_view kKind<std::size_t> = "number";
template <>
constexpr std::string_view kKind<double> = "number";
template <>
constexpr std::string_view kKind<std::vector<std::string>> = "list";
template <>
constexpr std::string_view kKind<std::map<std::string, std::string>> = "map";

template <>
constexpr std::string_view kKind<std::vector<std::map<std::string, std::string>>> = "list of maps";

}  // namespace takt::internal::key_values
