// The log handed to a program's own logger, instead of standard error or a file.
#pragma once

#include <functional>
#include <string_view>

#include "base/log.h"

namespace takt::internal {

// The level, the component, and the line without its time and level, or the whole JSON object. From any
// thread, several at once. What it throws is dropped, and so is what is logged inside it.
using LogSink =
    std::function<void(LogLevel level, std::string_view component, std::string_view text)>;

// From here on, until StartLogging.
void LogTo(LogSink sink, LogLevel level, LogFormat format);

}  // namespace takt::internal
