#include "cli/room_forecast.h"

#include <fmt/format.h>

#include <algorithm>

namespace takt::internal::cli {
namespace {

// An empty store has its tables and indexes too: of fewer nothing can be told.
constexpr double kExecutionsMin = 1'000;

constexpr std::chrono::hours kHour(1);

double DaysOf(Duration duration) {
    return std::chrono::duration<double, std::chrono::days::period>(duration).count();
}

}  // namespace

std::optional<RoomForecast> ForecastRoom(const std::vector<KeptHistory>& histories, double bytes,
                                         double bytes_max) {
    double kept = 0;
    bool told = false;
    for (const KeptHistory& history : histories) {
        kept += history.kept;
        told |= history.daily.has_value();
    }
    if (kept < kExecutionsMin || !told) return std::nullopt;
    // With what stands around them: indexes, logs, statistics.
    const double each = bytes / kept;
    RoomForecast forecast{.bytes_later = bytes};
    for (const KeptHistory& history : histories) {
        if (!history.daily) continue;
        forecast.daily += *history.daily;
        const Duration left = history.retention - history.age;
        if (left <= Duration(0)) continue;  // As much goes as comes.
        const double growth = *history.daily * each;
        forecast.bytes_daily += growth;
        forecast.bytes_later += growth * DaysOf(left);
        forecast.until_later = std::max(forecast.until_later, left);
    }
    if (bytes_max > 0 && forecast.bytes_later > bytes_max) {
        const double days = std::max(0.0, bytes_max - bytes) / forecast.bytes_daily;
        forecast.until_full =
            Duration(static_cast<Duration::rep>(std::min(days, DaysOf(forecast.until_later)) *
                                                double(Duration(std::chrono::days(1)).count())));
    }
    return forecast;
}

std::optional<double> DailyOfHours(const std::vector<EndedHour>& hours, Time now) {
    Time first = now;
    for (const EndedHour& hour : hours) {
        if (hour.ended > 0) first = std::min(first, hour.begun);
    }
    const Duration covered = now - first - Duration(kHour);
    if (covered < kHour) return std::nullopt;
    double ended = 0;
    for (const EndedHour& hour : hours) ended += hour.begun == first ? 0 : hour.ended;
    return ended / DaysOf(covered);
}

std::string BytesText(double bytes) {
    static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    while (bytes >= 1'024 && unit + 1 < std::size(kUnits)) {
        bytes /= 1'024;
        ++unit;
    }
    return unit == 0 ? fmt::format("{:.0f} bytes", bytes)
                     : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

}  // namespace takt::internal::cli
