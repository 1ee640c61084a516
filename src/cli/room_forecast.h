// How a store will grow, from how many executions end each day and how long they are kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace takt::internal::cli {

// A namespace's history.
struct KeptHistory {
    Duration retention{};
    Duration age{};   // Since the first execution that is known of.
    double kept = 0;  // Executions that ended no longer ago than the retention.
    // That end in a day, of the last ones; nothing if it is too young to tell.
    std::optional<double> daily = {};
};

struct RoomForecast {
    double daily = 0;                    // Executions that end in a day.
    double bytes_daily = 0;              // Added each day; 0: as much goes as comes.
    double bytes_later = 0;              // When everything is kept as long as it is to be.
    Duration until_later{};              // From now.
    std::optional<Duration> until_full;  // Before that; nothing if it does not come to it.
};

// Nothing if too little is there to tell, or for too short a time; a namespace that is too young
// beside others does not count. `bytes_max` 0: there is no bound.
std::optional<RoomForecast> ForecastRoom(const std::vector<KeptHistory>& histories, double bytes,
                                         double bytes_max);

// Executions that ended within an hour that began then.
struct EndedHour {
    Time begun{};
    double ended = 0;
};
// How many end in a day, told from the hours of one. The first of them is not counted, as work may
// have begun at its end; nothing unless an hour has passed since.
std::optional<double> DailyOfHours(const std::vector<EndedHour>& hours, Time now);

// "1.2 GiB", "350.0 MiB", "12.0 KiB".
std::string BytesText(double bytes);

}  // namespace takt::internal::cli
