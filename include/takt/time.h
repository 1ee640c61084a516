// Time as this library spells it: milliseconds, and UTC.
//
//     using namespace std::chrono_literals;
//     task.timeout = 90s;
//     task.run_at = takt::Now() + 2h;
#pragma once

#include <chrono>

namespace takt {

using Duration = std::chrono::milliseconds;
using Time = std::chrono::time_point<std::chrono::system_clock, Duration>;

inline Time Now() {
    return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

}  // namespace takt
