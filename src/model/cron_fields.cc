#include "model/cron_fields.h"

#include <algorithm>
#include <bit>
#include <chrono>

namespace takt::internal {
namespace {

namespace chr = std::chrono;

constexpr std::int64_t DayNumber(int year, unsigned month, unsigned day) {
    return chr::sys_days(chr::year(year) / chr::month(month) / chr::day(day))
        .time_since_epoch()
        .count();
}

// The lowest member at or above `from`; -1 if none.
int LowestFrom(std::uint64_t set, int from) {
    if (from > 63) return -1;
    set &= ~std::uint64_t{0} << from;
    return set == 0 ? -1 : std::countr_zero(set);
}

// The Monday to Friday nearest to `day` in the same month, as the set of that one day.
std::uint32_t NearestWeekday(unsigned day, unsigned weekday, unsigned length) {
    if (weekday == 6) day = day == 1 ? 3 : day - 1;
    if (weekday == 0) day = day == length ? day - 2 : day + 1;
    return 1u << day;
}

}  // namespace

bool CronFields::HasYear(int year) const {
    if (year < kCronYearMin || year > kCronYearMax) return false;
    const auto bit = static_cast<unsigned>(year - kCronYearMin);
    return years[bit / 64] >> (bit % 64) & 1;
}

std::uint32_t CronFields::DaysOf(int year, unsigned month) const {
    const auto length = static_cast<unsigned>(
        chr::year_month_day_last(chr::year(year), chr::month_day_last(chr::month(month))).day());
    const auto all = static_cast<std::uint32_t>((std::uint64_t{2} << length) - 2);
    if (any_day && any_weekday) return all;

    const auto first_weekday = static_cast<unsigned>(
        chr::weekday(chr::sys_days(chr::days(DayNumber(year, month, 1)))).c_encoding());
    std::uint32_t by_day = days & all;
    for (std::uint32_t rest = days_before_last; rest != 0; rest &= rest - 1) {
        const auto before = static_cast<unsigned>(std::countr_zero(rest));
        if (before < length) by_day |= 1u << (length - before);
    }
    for (std::uint32_t rest = nearest_weekdays; rest != 0; rest &= rest - 1) {
        auto day = static_cast<unsigned>(std::countr_zero(rest));
        if (day == 0) day = length;
        if (day > length) continue;  // `31W` passes over the short months, as `31` does.
        by_day |= NearestWeekday(day, (first_weekday + day - 1) % 7, length);
    }

    std::uint32_t by_weekday = 0;
    for (unsigned weekday = 0; weekday < 7; ++weekday) {
        const unsigned first = 1 + (weekday + 7 - first_weekday) % 7;
        constexpr std::uint64_t kWeekly = 0x1020'4081;  // Bits 0, 7, 14, 21 and 28.
        const auto weekly = static_cast<std::uint32_t>(kWeekly << first) & all;
        if (weekdays >> weekday & 1) by_weekday |= weekly;
        if (last_weekdays >> weekday & 1) by_weekday |= std::bit_floor(weekly);
        for (unsigned n = 0; n < 5; ++n) {
            // 64 bits: the fifth Saturday of a month that begins on Sunday would be day 35.
            const auto nth = static_cast<std::uint32_t>(std::uint64_t{1} << (first + 7 * n));
            if (nth_weekdays >> (7 * n + weekday) & 1) by_weekday |= weekly & nth;
        }
    }
    if (any_day) return by_weekday;
    if (any_weekday) return by_day;
    return by_day | by_weekday;
}

// -1 if nothing fits in the rest of the day.
std::int64_t CronFields::FirstTimeOfDay(std::int64_t second_of_day) const {
    int hour = static_cast<int>(second_of_day / 3600);
    int minute = static_cast<int>(second_of_day / 60 % 60);
    int second = static_cast<int>(second_of_day % 60);
    const bool this_hour = hours >> hour & 1;
    const bool this_minute = this_hour && (minutes >> minute & 1);
    second = this_minute ? LowestFrom(seconds, second) : -1;
    if (second < 0) {
        second = LowestFrom(seconds, 0);
        minute = this_hour ? LowestFrom(minutes, minute + 1) : -1;
        if (minute < 0) {
            minute = LowestFrom(minutes, 0);
            hour = LowestFrom(hours, hour + 1);
            if (hour < 0) return -1;
        }
    }
    return hour * 3600 + minute * 60 + second;
}

std::int64_t CronFields::FirstAtOrAfter(std::int64_t local) const {
    constexpr std::int64_t kStart = DayNumber(kCronYearMin, 1, 1) * kDaySeconds;
    constexpr std::int64_t kEnd = DayNumber(kCronYearMax + 1, 1, 1) * kDaySeconds;
    local = std::max(local, kStart);
    if (local >= kEnd) return kNever;

    const std::int64_t day_number = local / kDaySeconds;
    const chr::year_month_day date{chr::sys_days(chr::days(day_number))};
    const int start_year = static_cast<int>(date.year());
    const auto start_month = static_cast<unsigned>(date.month());
    const auto start_day = static_cast<unsigned>(date.day());
    for (int year = start_year; year <= kCronYearMax; ++year) {
        if (!HasYear(year)) continue;
        const unsigned month_min = year == start_year ? start_month : 1;
        for (unsigned month = month_min; month <= 12; ++month) {
            if (!(months >> month & 1)) continue;
            const bool start = year == start_year && month == start_month;
            const std::uint32_t fits = DaysOf(year, month);
            if (start && (fits >> start_day & 1)) {
                const std::int64_t time = FirstTimeOfDay(local % kDaySeconds);
                if (time >= 0) return day_number * kDaySeconds + time;
            }
            const int day = LowestFrom(fits, start ? static_cast<int>(start_day) + 1 : 1);
            if (day < 0) continue;
            return DayNumber(year, month, static_cast<unsigned>(day)) * kDaySeconds +
                   FirstTimeOfDay(0);
        }
    }
    return kNever;
}

}  // namespace takt::internal
