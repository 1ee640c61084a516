// How often a cron fires in a stretch of time, without going from fire to fire: a week in which nobody
// led has ten thousand due times of a task, and there may be a hundred thousand tasks.
#include <algorithm>
#include <bit>
#include <chrono>

#include "model/cron.h"

namespace takt::internal {
namespace {

namespace chr = std::chrono;

std::uint64_t Below(std::uint64_t set, std::int64_t bound) {
    return std::uint64_t(std::popcount(set & ((std::uint64_t{1} << bound) - 1)));
}

std::uint64_t SizeOf(std::uint64_t set) {
    return std::uint64_t(std::popcount(set));
}

std::int64_t StartOf(chr::year year) {
    return chr::sys_seconds(chr::sys_days(year / 1 / 1)).time_since_epoch().count();
}

// The times of a day that fit and are before `second`.
std::uint64_t CountInDay(const CronFields& fields, std::int64_t second) {
    const std::int64_t hour = second / 3'600;
    const std::int64_t minute = second / 60 % 60;
    const std::uint64_t in_minute = SizeOf(fields.seconds);
    const std::uint64_t in_hour = SizeOf(fields.minutes) * in_minute;
    std::uint64_t count = Below(fields.hours, hour) * in_hour;
    if ((fields.hours >> hour & 1) == 0) return count;
    count += Below(fields.minutes, minute) * in_minute;
    if ((fields.minutes >> minute & 1) == 0) return count;
    return count + Below(fields.seconds, second % 60);
}

// The days of the month before `day` that fit.
std::uint64_t CountInMonth(const CronFields& fields, chr::year_month month, std::int64_t day) {
    if (!fields.HasYear(int(month.year()))) return 0;
    if ((fields.months >> unsigned(month.month()) & 1) == 0) return 0;
    return Below(fields.DaysOf(int(month.year()), unsigned(month.month())), day);
}

bool Fits(const CronFields& fields, chr::year_month_day date) {
    const chr::year_month month = date.year() / date.month();
    const std::int64_t day = unsigned(date.day());
    return CountInMonth(fields, month, day + 1) > CountInMonth(fields, month, day);
}

// The days that fit, from the first and before the last.
std::uint64_t CountDays(const CronFields& fields, chr::sys_days first, chr::sys_days last) {
    const chr::year_month_day from = first;
    const chr::year_month_day to = last;
    const chr::year_month end = to.year() / to.month();
    std::uint64_t count = 0;
    for (chr::year_month month = from.year() / from.month(); month < end; month += chr::months(1)) {
        count += CountInMonth(fields, month, 32);
    }
    count += CountInMonth(fields, end, unsigned(to.day()));
    return count - CountInMonth(fields, from.year() / from.month(), unsigned(from.day()));
}

}  // namespace

std::uint64_t CronFields::CountBetween(std::int64_t from, std::int64_t to) const {
    from = std::max(from, StartOf(chr::year(kCronYearMin)));
    to = std::min(to, StartOf(chr::year(kCronYearMax + 1)));
    if (from >= to) return 0;
    const chr::sys_days first(chr::days(from / kDaySeconds));
    const chr::sys_days last(chr::days(to / kDaySeconds));
    const std::uint64_t whole =
        CountDays(*this, first, last) * SizeOf(hours) * SizeOf(minutes) * SizeOf(seconds);
    const std::uint64_t before = Fits(*this, first) ? CountInDay(*this, from % kDaySeconds) : 0;
    const std::uint64_t after = Fits(*this, last) ? CountInDay(*this, to % kDaySeconds) : 0;
    return whole + after - before;
}

std::uint64_t Cron::CountMultiples(Time after, Time until) const {
    const auto end = Time(chr::sys_days(chr::year(kCronYearMax + 1) / 1 / 1)) - Duration(1);
    after = std::max(after, Time{} - Duration(1));
    until = std::min(until, end);
    if (after >= until) return 0;
    const auto up_to = [&](Time time) {
        return time < Time{} ? 0 : std::uint64_t(time.time_since_epoch() / every_) + 1;
    };
    return up_to(until) - up_to(after);
}

// The parts of real time between changes of offset, as in Next.
std::uint64_t Cron::CountBetween(Time after, Time until,
                                 std::span<const chr::sys_days> without) const {
    if (every_ > Duration(0)) return CountMultiples(after, until);
    const auto second_after = [](Time time) {
        return chr::floor<chr::seconds>(time).time_since_epoch().count() + 1;
    };
    const std::int64_t start = std::max(second_after(after), std::int64_t{0} - kDaySeconds);
    const std::int64_t end = second_after(until);
    const auto count_local = [&](std::int64_t from, std::int64_t to) {
        std::uint64_t count = fields_.CountBetween(from, to);
        const chr::sys_days first(chr::floor<chr::days>(chr::seconds(from)));
        for (auto day = std::ranges::lower_bound(without, first); day != without.end(); ++day) {
            const std::int64_t midnight = chr::sys_seconds(*day).time_since_epoch().count();
            if (midnight >= to) break;
            count -= fields_.CountBetween(std::max(from, midnight),
                                          std::min(to, midnight + kDaySeconds));
        }
        return count;
    };
    std::uint64_t count = 0;
    const auto changes = zone_->changes();
    for (std::size_t i = zone_->IndexAt(start); i < changes.size(); ++i) {
        const std::int64_t begin = std::max(start, changes[i].at);
        if (begin >= end) break;
        const bool is_last = i + 1 == changes.size();
        const std::int64_t to = is_last ? end : std::min(end, changes[i + 1].at);
        std::int64_t local = begin + changes[i].offset;
        if (i > 0 && !fields_.every_hour()) {
            const std::int64_t unchanged = changes[i].at + changes[i - 1].offset;
            const bool jumps_here = begin == changes[i].at && unchanged < local;
            // Skipped times fire once, when the clock jumps, unless one that fits falls there anyway.
            if (jumps_here && dst_ != Dst::kSkip && fields_.CountBetween(unchanged, local) > 0 &&
                fields_.CountBetween(local, local + 1) == 0) {
                const chr::sys_days day(chr::floor<chr::days>(chr::seconds(local)));
                count += std::ranges::binary_search(without, day) ? 0 : 1;
            }
            if (dst_ != Dst::kTwice) local = std::max(local, unchanged);
        }
        count += count_local(local, to + changes[i].offset);
    }
    return count;
}

}  // namespace takt::internal
