#include "http/log.h"

#include "base/log.h"

namespace takt::internal {

void LogHttp(const HttpLog& log, HttpLogLevel level, std::string_view message) {
    if (log) return log(level, message);
    switch (level) {
        case HttpLogLevel::kInfo:
            return Log(LogLevel::kInfo, "http", message);
        case HttpLogLevel::kWarning:
            return Log(LogLevel::kWarning, "http", message);
        case HttpLogLevel::kError:
            return Log(LogLevel::kError, "http", message);
    }
}

}  // namespace takt::internal
