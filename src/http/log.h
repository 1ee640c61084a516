// How this folder reports what an operator should know, without choosing a logging library.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace takt {

enum class HttpLogLevel : std::uint8_t { kInfo, kWarning, kError };

// Called on the io thread; empty means that nobody listens, except for what escapes from a
// coroutine, which then goes to stderr.
using HttpLog = std::function<void(HttpLogLevel level, std::string_view message)>;

}  // namespace takt
