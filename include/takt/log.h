// The log of this library, one for the process: standard error unless told otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "takt/error.h"
#include "takt/export.h"
#include "takt/name.h"

namespace takt {

enum class LogLevel : std::uint8_t { kTrace, kDebug, kInfo, kWarning, kError, kOff };
TAKT_EXPORT std::string_view Name(LogLevel level);
template <>
inline constexpr bool kHasName<LogLevel> = true;

// One thing that happened, for the time of the call.
struct LogLine {
    LogLevel level = LogLevel::kInfo;
    std::string_view component;  // The part of the library: node, worker, sdk …
    std::string_view text;       // "component: message key=value", or with `json` the whole object.
};

// Takes lines, from any thread, several at once, and soon: whoever logs waits for it. What it throws is
// dropped, and so is whatever this library would log inside it.
using LogSink = std::function<void(const LogLine&)>;

struct LogOptions {
    LogLevel level = LogLevel::kInfo;
    bool json = false;      // One JSON object in each line, for programs.
    std::string file = {};  // Empty is standard error.
    LogSink sink = {};      // The program's own logger, instead of either.
};

// From here on. kInvalid if the file cannot be opened, or both file and sink are given; then nothing
// changes.
TAKT_EXPORT Result<void> SetLog(const LogOptions& options);

}  // namespace takt
