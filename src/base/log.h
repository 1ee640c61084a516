// The log: what happened, as one line each, for people on a terminal or for programs as JSON.
//
//   Log(LogLevel::kWarning, "node", "commit failed", {{"term", epoch}, {"error", error.detail}});
//
// text  2026-11-15T02:00:00.000Z warning node: commit failed term=7 error="no route to host"
// JSON  {"time":"…","level":"warning","component":"node","message":"commit failed","term":7,…}
//
// One event is always one line: control characters and broken UTF-8 are escaped, long values are
// cut. May be called from any thread, also before StartLogging (then text on standard error, from
// kInfo). A level that is off costs one relaxed load, beside the making of the fields.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace takt::internal {

enum class LogLevel : std::uint8_t { kTrace, kDebug, kInfo, kWarning, kError, kOff };
std::string_view Name(LogLevel level);
std::optional<LogLevel> ParseLogLevel(std::string_view name);  // Also "warn".

enum class LogFormat : std::uint8_t { kText, kJson };
std::optional<LogFormat> ParseLogFormat(std::string_view name);

// Longer messages and values are cut: one hostile payload must not fill the disk.
constexpr std::size_t kLogValueBytesMax = 4096;

struct LogOptions {
    LogLevel level = LogLevel::kInfo;
    LogFormat format = LogFormat::kText;
    std::string file;  // Empty is standard error, in colour if that is a terminal.
    std::size_t file_bytes_max = 64 << 20;  // Then takt.log is renamed to takt.1.log, and so on.
    std::size_t files_max = 5;              // Of the renamed ones.
};

// From here on events go where `options` say. kInvalid if the file cannot be opened; then nothing
// changes.
Result<void> StartLogging(const LogOptions& options);

// The level of the process, at run time.
void SetLogLevel(LogLevel level);

// One key and its value. Keys are literals of a-z and _, and not time, level, component or message.
// Refers to texts it was given: use it only inside the call of Log.
class LogField {
  public:
    using Value = std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool,
                               std::chrono::microseconds, Time>;

    LogField(std::string_view key, std::string_view value) : key_(key), value_(value) {}
    LogField(std::string_view key, const char* value)
        : key_(key), value_(std::string_view(value)) {}
    LogField(std::string_view key, const std::string& value)
        : key_(key), value_(std::string_view(value)) {}
    LogField(std::string_view key, bool value) : key_(key), value_(value) {}
    LogField(std::string_view key, Time value) : key_(key), value_(value) {}
    template <std::signed_integral Number>
    LogField(std::string_view key, Number value) : key_(key), value_(std::int64_t{value}) {}
    template <std::unsigned_integral Number>
    LogField(std::string_view key, Number value) : key_(key), value_(std::uint64_t{value}) {}
    template <std::floating_point Number>
    LogField(std::string_view key, Number value) : key_(key), value_(double{value}) {}
    template <typename Rep, typename Period>
    LogField(std::string_view key, std::chrono::duration<Rep, Period> value)
        : key_(key), value_(std::chrono::duration_cast<std::chrono::microseconds>(value)) {}
    // Texts and ids.
    template <typename T>
        requires requires(const T& value) {
            { value.view() } -> std::same_as<std::string_view>;
        }
    LogField(std::string_view key, const T& value) : key_(key), value_(value.view()) {}

    std::string_view key() const { return key_; }
    const Value& value() const { return value_; }

  private:
    std::string_view key_;
    Value value_;
};

namespace log_internal {
extern std::atomic<LogLevel> level;
void Write(LogLevel level, std::string_view component, std::string_view message,
           std::initializer_list<LogField> fields);
}  // namespace log_internal

inline bool LogEnabled(LogLevel level) {
    return level >= log_internal::level.load(std::memory_order_relaxed);
}

// Warnings and errors that repeat (same component and message, whatever their fields) are let
// through 10 times in 10 seconds; the next one after that says how many were left out.
inline void Log(LogLevel level, std::string_view component, std::string_view message,
                std::initializer_list<LogField> fields = {}) {
    if (LogEnabled(level)) log_internal::Write(level, component, message, fields);
}

// For tests: while it lives, events go here and nowhere else. One at a time. Keeps the last 10,000.
class LogCapture {
  public:
    explicit LogCapture(LogFormat format = LogFormat::kText, LogLevel level = LogLevel::kTrace);
    ~LogCapture();
    LogCapture(const LogCapture&) = delete;
    LogCapture& operator=(const LogCapture&) = delete;

    // Without their ends; text lines also without their times.
    std::vector<std::string> lines() const;

  private:
    struct Previous;
    std::unique_ptr<Previous> previous_;
};

}  // namespace takt::internal
