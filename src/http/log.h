// Where this folder reports what an operator should know.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace takt::internal {

enum class HttpLogLevel : std::uint8_t { kInfo, kWarning, kError };

// Called on the io thread. Empty means the process's log, component "http".
using HttpLog = std::function<void(HttpLogLevel level, std::string_view message)>;

void LogHttp(const HttpLog& log, HttpLogLevel level, std::string_view message);

}  // namespace takt::internal
