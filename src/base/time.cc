#include "base/time.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "base/check.h"

namespace takt::internal {
namespace {

std::unexpected<Error> BadTime(std::string_view text) {
    return Fail(ErrorCode::kInvalid, "'" + std::string(text.substr(0, 40)) +
                                         "' is not a time; write it as 2026-11-15T02:00:00Z");
}

// Reads exactly `count` digits off the front of `rest`; -1 if they are not there.
int TakeDigits(std::string_view& rest, std::size_t count) {
    if (rest.size() < count) return -1;
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (rest[i] < '0' || rest[i] > '9') return -1;
        value = value * 10 + (rest[i] - '0');
    }
    rest.remove_prefix(count);
    return value;
}

bool Take(std::string_view& rest, char c) {
    if (rest.empty() || rest.front() != c) return false;
    rest.remove_prefix(1);
    return true;
}

// The last millisecond of the year 9999: what RFC 3339 can spell.
constexpr Time kTimeMax =
    std::chrono::sys_days(std::chrono::year(9999) / 12 / 31) + std::chrono::days(1) - Duration(1);

struct Unit {
    std::string_view name;
    std::int64_t milliseconds;
};

// From the largest down, as FormatDuration writes them.
constexpr std::array kUnits = {
    Unit{"d", 86'400'000}, Unit{"h", 3'600'000}, Unit{"m", 60'000}, Unit{"s", 1'000}, Unit{"ms", 1},
};

}  // namespace

Steady SteadyClock::now() {
    timespec now;
    TAKT_CHECK(clock_gettime(CLOCK_BOOTTIME, &now) == 0);
    return Steady(std::chrono::seconds(now.tv_sec) + std::chrono::microseconds(now.tv_nsec / 1000));
}

Instant ReadClocks() {
    return {std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()),
            SteadyClock::now()};
}

std::string FormatTime(Time time) {
    // Every answer of the API carries several times, so the digits are written by hand: printf
    // takes ten times as long.
    std::string text = "0000-00-00T00:00:00.000Z";
    const Time shown = std::clamp(time, Time{}, kTimeMax);
    const auto day = std::chrono::floor<std::chrono::days>(shown);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss clock(shown - day);
    const auto put = [&](std::size_t end, auto value) {
        for (auto rest = static_cast<unsigned>(value); rest > 0; rest /= 10) {
            text[--end] = static_cast<char>('0' + rest % 10);
        }
    };
    put(4, int(date.year()));
    put(7, unsigned(date.month()));
    put(10, unsigned(date.day()));
    put(13, clock.hours().count());
    put(16, clock.minutes().count());
    put(19, clock.seconds().count());
    put(23, clock.subseconds().count());
    return text;
}

Result<Time> ParseTime(std::string_view text) {
    std::string_view rest = text;
    const int year = TakeDigits(rest, 4);
    if (year < 1970 || !Take(rest, '-')) return BadTime(text);
    const int month = TakeDigits(rest, 2);
    if (month < 0 || !Take(rest, '-')) return BadTime(text);
    const int day = TakeDigits(rest, 2);
    if (day < 0 || !(Take(rest, 'T') || Take(rest, 't') || Take(rest, ' '))) return BadTime(text);
    const int hour = TakeDigits(rest, 2);
    if (hour < 0 || hour > 23 || !Take(rest, ':')) return BadTime(text);
    const int minute = TakeDigits(rest, 2);
    if (minute < 0 || minute > 59 || !Take(rest, ':')) return BadTime(text);
    const int second = TakeDigits(rest, 2);
    // RFC 3339 allows 60 for a leap second; it is counted as the second after.
    if (second < 0 || second > 60) return BadTime(text);

    std::int64_t fraction = 0;
    if (Take(rest, '.')) {
        std::size_t digits = 0;
        for (std::int64_t scale = 100; !rest.empty() && rest[0] >= '0' && rest[0] <= '9';
             scale /= 10, ++digits) {
            fraction += scale * (rest[0] - '0');
            rest.remove_prefix(1);
        }
        if (digits == 0 || digits > 9) return BadTime(text);
    }

    int offset_minutes = 0;
    if (!(Take(rest, 'Z') || Take(rest, 'z'))) {
        const int sign = Take(rest, '+') ? 1 : Take(rest, '-') ? -1 : 0;
        const int hours = sign == 0 ? -1 : TakeDigits(rest, 2);
        if (hours < 0 || hours > 23 || !Take(rest, ':')) return BadTime(text);
        const int minutes = TakeDigits(rest, 2);
        if (minutes < 0 || minutes > 59) return BadTime(text);
        offset_minutes = sign * (hours * 60 + minutes);
    }
    const std::chrono::year_month_day date{std::chrono::year(year),
                                           std::chrono::month(static_cast<unsigned>(month)),
                                           std::chrono::day(static_cast<unsigned>(day))};
    if (!rest.empty() || !date.ok()) return BadTime(text);
    const Time time = std::chrono::sys_days(date) + std::chrono::hours(hour) +
                      std::chrono::minutes(minute - offset_minutes) + std::chrono::seconds(second) +
                      Duration(fraction);
    // An offset can carry a time out of the years that its digits were in.
    if (time < Time{} || time > kTimeMax) return BadTime(text);
    return time;
}

Result<Duration> ParseDuration(std::string_view text) {
    const auto bad = [&] {
        return Fail(ErrorCode::kInvalid, "'" + std::string(text.substr(0, 40)) +
                                             "' is not a duration; write it as 90s, 1h30m or 250ms "
                                             "(at most 100 years)");
    };
    std::string_view rest = text;
    double total = 0;
    if (rest.empty()) return bad();
    while (!rest.empty()) {
        double number = 0;
        std::size_t digits = 0;
        bool fractional = false;
        for (; !rest.empty() && rest[0] >= '0' && rest[0] <= '9'; ++digits, rest.remove_prefix(1)) {
            number = number * 10 + (rest[0] - '0');
        }
        if (Take(rest, '.')) {
            fractional = true;
            double scale = 0.1;
            for (digits = 0; !rest.empty() && rest[0] >= '0' && rest[0] <= '9';
                 ++digits, rest.remove_prefix(1), scale /= 10) {
                number += scale * (rest[0] - '0');
            }
        }
        if (digits == 0 || digits > 18) return bad();
        std::size_t letters = 0;
        while (letters < rest.size() && rest[letters] >= 'a' && rest[letters] <= 'z') ++letters;
        const std::string_view name = rest.substr(0, letters);
        rest.remove_prefix(letters);
        const Unit* unit = nullptr;
        for (const Unit& candidate : kUnits) {
            if (candidate.name == name) unit = &candidate;
        }
        if (!unit || (fractional && !rest.empty())) return bad();
        total += number * static_cast<double>(unit->milliseconds);
        if (total > static_cast<double>(kDurationMax.count())) return bad();
    }
    return Duration(std::llround(total));
}

std::string FormatDuration(Duration duration) {
    std::string text;
    std::int64_t rest = duration.count();
    for (const Unit& unit : kUnits) {
        if (const std::int64_t count = rest / unit.milliseconds; count > 0) {
            text += std::to_string(count);
            text += unit.name;
            rest %= unit.milliseconds;
        }
    }
    return text.empty() ? "0s" : text;
}

}  // namespace takt::internal
