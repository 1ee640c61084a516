// The log of this library, one for the process: standard error unless told otherwise.
#pragma once

#include <cstdint>
#include <string>

#include "takt/error.h"
#include "takt/export.h"

namespace takt {

enum class LogLevel : std::uint8_t { kTrace, kDebug, kInfo, kWarning, kError, kOff };

struct LogOptions {
    LogLevel level = LogLevel::kInfo;
    bool json = false;      // One JSON object in each line, for programs.
    std::string file = {};  // Empty is standard error.
};

// From here on. kInvalid if the file cannot be opened; then nothing changes.
TAKT_EXPORT Result<void> SetLog(const LogOptions& options);

}  // namespace takt
