// Time as Takt uses it: wall time for what people schedule, steady time for leases and timeouts.
#pragma once

#include <chrono>
#include <compare>
#include <string>
#include <string_view>

#include "base/error.h"

namespace takt::internal {

using Duration = std::chrono::milliseconds;

// Wall-clock time, UTC, in milliseconds. May jump; used for run_at, cron and what people read.
using Time = std::chrono::sys_time<Duration>;

// Time that only moves forward at an even pace (CLOCK_BOOTTIME, so that a suspended machine counts
// its sleep). Meaningful inside one process only; never stored.
struct SteadyClock {
    using duration = std::chrono::microseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<SteadyClock, duration>;
    static constexpr bool is_steady = true;
    static time_point now();
};
using Steady = SteadyClock::time_point;

// Both clocks read at one moment. What takes an Instant never reads a clock of its own.
struct Instant {
    Time wall;
    Steady steady;
};

Instant ReadClocks();

// "2026-11-15T02:00:00.000Z". Always UTC, always milliseconds. Times before 1970 or after 9999,
// which have no such spelling, are shown as the nearest that has.
std::string FormatTime(Time time);

// Accepts RFC 3339 with any offset and 0 to 9 digits of fraction (cut to milliseconds), years 1970
// to 9999 in UTC. A leap second is the second after. kInvalid otherwise.
Result<Time> ParseTime(std::string_view text);

// "90s", "1h30m", "250ms", "2d"; units ms, s, m, h, d, each a non-negative decimal number (a
// fraction is allowed in the last unit only, "1.5s"). At most 100 years. kInvalid otherwise.
Result<Duration> ParseDuration(std::string_view text);

// A spelling that ParseDuration reads back: "1h30m", "1s500ms", "0s". Negative durations are "0s".
std::string FormatDuration(Duration duration);

// 100 years: sums of two never overflow, and nobody plans further.
constexpr Duration kDurationMax = std::chrono::hours(24 * 36525);

}  // namespace takt::internal
