// Statistics: what ran, how often it succeeded, how long it took and waited.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "takt/execution.h"
#include "takt/export.h"
#include "takt/name.h"
#include "takt/time.h"

namespace takt {

// The lines of a report.
enum class StatisticsBy : std::uint8_t { kDay, kHour, kTask, kType, kWorker };

TAKT_EXPORT std::string_view Name(StatisticsBy by);
template <>
inline constexpr bool kHasName<StatisticsBy> = true;

struct StatisticsQuery {
    StatisticsBy by = StatisticsBy::kDay;
    std::optional<Time> from = {};  // A week (by hour: a day) before `to` unless given.
    std::optional<Time> to = {};    // Now unless given.
    std::string task_id = {};       // By day: of this task only.
    std::string type = {};          // By day and by task: of this type only.
};

// Milliseconds; none where nothing was measured.
struct Spread {
    std::optional<double> mean, p50, p95, p99, max;
};

struct StatisticsLine {
    std::string key;   // The day, hour, id of the task, type or id of the worker.
    std::string name;  // For people.
    std::uint64_t total = 0;
    std::uint64_t success = 0;
    std::uint64_t failed = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t skipped = 0;
    std::uint64_t missed = 0;
    std::uint64_t retries = 0;
    std::optional<double> success_rate;  // 0 to 1.
    Spread duration;
    Spread wait;  // Mean and p95 only.
    std::optional<Status> last_status;
    std::optional<Time> last_at;
};

// Ten seconds or so of the last hours, for charts.
struct SeriesPoint {
    Time at{};
    std::uint64_t submitted = 0;
    std::uint64_t completed = 0;
    std::uint64_t failed = 0;
    std::uint64_t retries = 0;
    std::uint64_t running = 0;
    std::uint64_t pending = 0;
    std::optional<double> wait_p50, wait_p99, run_p50, run_p99;  // Milliseconds.
};

struct Series {
    Duration step{0};  // From point to point.
    std::vector<SeriesPoint> points;
};

}  // namespace takt
