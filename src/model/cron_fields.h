// The fields of a cron expression, as bit sets: the calendar of local times, without time zones.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace takt::internal {

constexpr int kCronYearMin = 1970;
constexpr int kCronYearMax = 2199;
constexpr std::int64_t kDaySeconds = 86'400;

// Small because there may be a million of them. Bit n of a set stands for the value n.
struct CronFields {
    static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
    static constexpr std::uint32_t kAllHours = 0xff'ffff;

    std::uint64_t seconds = 0;
    std::uint64_t minutes = 0;
    std::array<std::uint64_t, 4> years{};  // Bit n: the year 1970 + n.
    std::uint64_t nth_weekdays = 0;        // `5#2`, bit 7 * (2 - 1) + 5: the second Friday.
    std::uint32_t hours = 0;
    std::uint32_t days = 0;              // Days of the month, from bit 1.
    std::uint32_t days_before_last = 0;  // `L` is bit 0, `L-3` bit 3.
    std::uint32_t nearest_weekdays = 0;  // `15W` is bit 15, `LW` bit 0.
    std::uint16_t months = 0;            // From bit 1.
    std::uint8_t weekdays = 0;           // Sunday is bit 0.
    std::uint8_t last_weekdays = 0;      // `5L`, bit 5: the last Friday.
    // Whether the field was `*` or `?`. If neither is, a day that fits one of both fits.
    bool any_day = false;
    bool any_weekday = false;

    // An expression for all hours of the day means "on and on"; any other names times of the day.
    // Daylight saving time treats the two differently.
    bool every_hour() const { return hours == kAllHours; }

    bool HasYear(int year) const;

    // The days of the month that fit, as a set from bit 1.
    std::uint32_t DaysOf(int year, unsigned month) const;

    // The first local time at or after `local` (seconds since 1970-01-01 00:00) that fits; kNever
    // if none does up to the end of 2199. At worst 2,760 months are looked at, some 0.2 ms.
    std::int64_t FirstAtOrAfter(std::int64_t local) const;

    // How many local times from `from` on and before `to` fit. Takes as long as there are months.
    std::uint64_t CountBetween(std::int64_t from, std::int64_t to) const;

  private:
    std::int64_t FirstTimeOfDay(std::int64_t second_of_day) const;
};

}  // namespace takt::internal
