// Cron against oracles that share no code with it: they walk real time minute by minute, take local
// time from the C library and decide each minute on its own.
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "model/cron_testing.h"

namespace takt::internal {
namespace {

constexpr int kDays = 400;
constexpr int kMinutes = kDays * 1440;

// A minute as the clock on the wall shows it, and the same as a number that grows with it.
struct LocalMinute {
    int year, month, day, weekday, hour, minute;
    std::int64_t number;  // Minutes since 1970-01-01 00:00 local.
};

using Fits = std::function<bool(const LocalMinute&)>;

LocalMinute FromNumber(std::int64_t number) {
    const std::time_t seconds = number * 60;
    std::tm tm{};
    ::gmtime_r(&seconds, &tm);
    return {tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_wday,
            tm.tm_hour,        tm.tm_min,     number};
}

int DaysIn(const LocalMinute& t) {
    constexpr int kDaysIn[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = t.year % 4 == 0 && (t.year % 100 != 0 || t.year % 400 == 0);
    return t.month == 2 && leap ? 29 : kDaysIn[t.month - 1];
}

// The local minute of each real minute from `start` on.
std::vector<LocalMinute> Walk(const std::string& zone, std::int64_t start) {
    ::setenv("TZ", (":" + zone).c_str(), 1);
    ::tzset();
    std::vector<LocalMinute> minutes;
    minutes.reserve(kMinutes);
    const auto offset_at = [](std::int64_t second) {
        const std::time_t time = second;
        std::tm tm{};
        ::localtime_r(&time, &tm);
        return tm.tm_gmtoff;
    };
    // Asking once per quarter of an hour is enough where both ends agree.
    constexpr std::int64_t kQuarter = 900;
    long offset_next = offset_at(start);
    for (std::int64_t at = start; at < start + kMinutes * 60LL; at += kQuarter) {
        const long offset = offset_next;
        offset_next = offset_at(at + kQuarter);
        const bool even = offset == offset_next;
        for (std::int64_t second = at; second < at + kQuarter; second += 60) {
            const std::int64_t local = second + (even ? offset : offset_at(second));
            EXPECT_EQ(local % 60, 0) << zone;
            if (!minutes.empty() && minutes.back().number + 1 == local / 60) {
                // The usual case, without a division: the next minute of the same hour.
                LocalMinute next = minutes.back();
                ++next.number;
                if (++next.minute < 60) {
                    minutes.push_back(next);
                    continue;
                }
            }
            minutes.push_back(FromNumber(local / 60));
        }
    }
    ::unsetenv("TZ");
    ::tzset();
    return minutes;
}

struct Rule {
    bool every_hour;
    Dst dst;
};

// The documented rule, in the plainest words: go through the minutes and look back.
// `hits` says for each of them whether it fits.
std::vector<std::int64_t> Expected(const std::vector<LocalMinute>& minutes,
                                   const std::vector<char>& hits, std::int64_t start,
                                   const Fits& fits, Rule rule) {
    std::vector<std::int64_t> fires;
    std::int64_t shown_max = minutes[0].number - 1;
    std::int64_t before = minutes[0].number - 1;
    for (std::size_t i = 0; i < minutes.size(); ++i) {
        const std::int64_t now = minutes[i].number;
        bool fire = hits[i];
        if (!rule.every_hour) {
            const bool repeated = now <= shown_max;
            if (repeated && rule.dst != Dst::kTwice) fire = false;
            for (std::int64_t gone = before + 1; gone < now && !fire; ++gone) {
                fire = rule.dst != Dst::kSkip && fits(FromNumber(gone));
            }
        }
        if (fire) fires.push_back(start + static_cast<std::int64_t>(i) * 60);
        before = now;
        shown_max = std::max(shown_max, now);
    }
    return fires;
}

std::vector<char> Hits(const std::vector<LocalMinute>& minutes, const Fits& fits) {
    std::vector<char> hits;
    hits.reserve(minutes.size());
    for (const LocalMinute& minute : minutes) hits.push_back(fits(minute));
    return hits;
}

// Cron's word on the same stretch of time.
std::vector<std::int64_t> Actual(const Cron& cron, std::int64_t start) {
    const Time end = Time(std::chrono::seconds(start + kMinutes * 60LL));
    std::vector<std::int64_t> fires;
    Time time = Time(std::chrono::seconds(start - 1));
    for (auto next = cron.Next(time); next && *next < end; next = cron.Next(time)) {
        if (*next <= time) {
            ADD_FAILURE() << "not rising at " << FormatTime(time);
            break;
        }
        time = *next;
        fires.push_back(std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count());
    }
    return fires;
}

std::string FirstDifference(const std::vector<std::int64_t>& a,
                            const std::vector<std::int64_t>& b) {
    std::size_t i = 0;
    while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
    const auto text = [](const auto& list, std::size_t at) {
        return at < list.size() ? FormatTime(Time(std::chrono::seconds(list[at]))) : "nothing";
    };
    return "expected " + text(a, i) + ", got " + text(b, i);
}

struct Known {
    std::string_view expression;
    bool every_hour;
    Fits fits;
};

const std::vector<Known>& KnownExpressions() {
    using M = const LocalMinute&;
    static const std::vector<Known> known = {
        {"30 2 * * *", false, [](M t) { return t.hour == 2 && t.minute == 30; }},
        {"0 0 * * *", false, [](M t) { return t.hour == 0 && t.minute == 0; }},
        {"*/20 0-3,22/1 * * *", false,
         [](M t) { return t.minute % 20 == 0 && (t.hour <= 3 || t.hour >= 22); }},
        {"*/15 * * * *", true, [](M t) { return t.minute % 15 == 0; }},
        {"10 1 1,L * SUN", false,
         [](M t) {
             const bool day = t.day == 1 || t.day == DaysIn(t) || t.weekday == 0;
             return t.hour == 1 && t.minute == 10 && day;
         }},
        {"45 23 ? 3,10 0L,6#1", false,
         [](M t) {
             const bool day =
                 (t.weekday == 0 && t.day + 7 > DaysIn(t)) || (t.weekday == 6 && t.day <= 7);
             return t.hour == 23 && t.minute == 45 && (t.month == 3 || t.month == 10) && day;
         }},
    };
    return known;
}

struct Window {
    std::string_view zone;
    std::string_view start;
    friend void PrintTo(const Window& window, std::ostream* out) {
        *out << window.zone << " from " << window.start;
    }
};

// All kinds of zones: whole, half and quarter hours, no DST, half an hour of DST, two hours of it,
// DST in winter, changes at midnight, in Ramadan, on Fridays; and the years when something odd
// happened, and years that no file records.
std::vector<Window> Windows() {
    std::vector<Window> windows;
    for (const std::string_view zone : {"UTC",
                                        "Europe/Berlin",
                                        "Europe/London",
                                        "Europe/Dublin",
                                        "Europe/Lisbon",
                                        "Europe/Kyiv",
                                        "Europe/Moscow",
                                        "Europe/Istanbul",
                                        "Europe/Chisinau",
                                        "America/New_York",
                                        "America/Chicago",
                                        "America/Denver",
                                        "America/Phoenix",
                                        "America/Los_Angeles",
                                        "America/Anchorage",
                                        "America/Adak",
                                        "America/St_Johns",
                                        "America/Halifax",
                                        "America/Havana",
                                        "America/Santiago",
                                        "America/Asuncion",
                                        "America/Nuuk",
                                        "America/Scoresbysund",
                                        "America/Miquelon",
                                        "America/Sao_Paulo",
                                        "America/Bogota",
                                        "Africa/Cairo",
                                        "Africa/Casablanca",
                                        "Africa/El_Aaiun",
                                        "Africa/Lagos",
                                        "Asia/Shanghai",
                                        "Asia/Tokyo",
                                        "Asia/Kolkata",
                                        "Asia/Kathmandu",
                                        "Asia/Tehran",
                                        "Asia/Jerusalem",
                                        "Asia/Beirut",
                                        "Asia/Gaza",
                                        "Asia/Dubai",
                                        "Australia/Sydney",
                                        "Australia/Adelaide",
                                        "Australia/Lord_Howe",
                                        "Australia/Eucla",
                                        "Pacific/Auckland",
                                        "Pacific/Chatham",
                                        "Pacific/Apia",
                                        "Pacific/Easter",
                                        "Pacific/Norfolk",
                                        "Pacific/Kiritimati",
                                        "Antarctica/Troll"}) {
        windows.push_back({zone, "2026-01-15T00:00:00Z"});
    }
    for (const Window& window : {Window{"Pacific/Apia", "2011-03-01T00:00:00Z"},
                                 {"Pacific/Kwajalein", "1993-01-01T00:00:00Z"},
                                 {"America/Sao_Paulo", "2018-01-01T00:00:00Z"},
                                 {"America/Caracas", "2016-01-01T00:00:00Z"},
                                 {"Asia/Pyongyang", "2018-01-01T00:00:00Z"},
                                 {"America/Goose_Bay", "2010-01-01T00:00:00Z"},
                                 {"Europe/Berlin", "2037-06-01T00:00:00Z"},
                                 {"Europe/Dublin", "2060-01-01T00:00:00Z"},
                                 {"Australia/Lord_Howe", "2150-01-01T00:00:00Z"},
                                 {"Asia/Gaza", "2086-06-01T00:00:00Z"}}) {
        windows.push_back(window);
    }
    return windows;
}

class CronOracleWindow : public testing::TestWithParam<Window> {};

// A year and a month of fires, in 60 zones, for fixed and frequent schedules and each option.
TEST_P(CronOracleWindow, AgreesWithAWalkThroughEveryMinuteOf400Days) {
    const Window& window = GetParam();
    const std::int64_t start = At(window.start).time_since_epoch().count() / 1000;
    const std::vector<LocalMinute> minutes = Walk(std::string(window.zone), start);
    for (const Known& known : KnownExpressions()) {
        const std::vector<char> hits = Hits(minutes, known.fits);
        for (const Dst dst : {Dst::kOnce, Dst::kSkip, Dst::kTwice}) {
            const auto expected =
                Expected(minutes, hits, start, known.fits, {known.every_hour, dst});
            const auto actual =
                Actual(Parsed(known.expression, {.timezone = window.zone, .dst = dst}), start);
            EXPECT_GT(expected.size(), 3u);
            EXPECT_TRUE(expected == actual) << known.expression << " dst " << static_cast<int>(dst)
                                            << ": " << FirstDifference(expected, actual);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Zones, CronOracleWindow, testing::ValuesIn(Windows()),
                         [](const testing::TestParamInfo<Window>& param) {
                             std::string name(param.param.zone);
                             std::ranges::replace(name, '/', '_');
                             return name + "_" + std::string(param.param.start.substr(0, 4));
                         });

// A random set of values of one field, and how it is written.
struct RandomField {
    std::set<int> values;
    std::string text;
};

RandomField DrawField(std::mt19937_64& random, int min, int max) {
    RandomField field;
    const auto draw = [&](int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random);
    };
    const int items = draw(1, 3);
    for (int i = 0; i < items; ++i) {
        if (i > 0) field.text += ",";
        const int first = draw(min, max), last = draw(first, max), step = draw(1, 5);
        switch (draw(0, 4)) {
            case 0:
                field.text += "*/" + std::to_string(step + 1);
                for (int v = min; v <= max; v += step + 1) field.values.insert(v);
                break;
            case 1:
                field.text +=
                    std::to_string(first) + "-" + std::to_string(last) + "/" + std::to_string(step);
                for (int v = first; v <= last; v += step) field.values.insert(v);
                break;
            case 2:
                field.text += std::to_string(first) + "/" + std::to_string(step);
                for (int v = first; v <= max; v += step) field.values.insert(v);
                break;
            default:
                field.text += std::to_string(first);
                field.values.insert(first);
        }
    }
    return field;
}

// `*` half of the time, else as above.
RandomField DrawFieldOrAny(std::mt19937_64& random, int min, int max) {
    if (random() % 2 == 0) return DrawField(random, min, max);
    RandomField any;
    any.text = "*";
    for (int v = min; v <= max; ++v) any.values.insert(v);
    return any;
}

// Any schedule a user may think of: fires rise strictly, and no minute that fits is passed over.
TEST(CronOracle, RandomExpressionsNeitherSkipNorRepeatAFittingMinute) {
    std::mt19937_64 random(20261115);
    int compared = 0;
    for (const std::string_view zone :
         {"UTC", "Europe/Berlin", "America/Havana", "Australia/Lord_Howe", "Africa/Casablanca"}) {
        const std::int64_t start = At("2026-02-01T00:00:00Z").time_since_epoch().count() / 1000;
        const std::vector<LocalMinute> minutes = Walk(std::string(zone), start);
        for (int round = 0; round < 12; ++round) {
            const RandomField minute = DrawField(random, 0, 59),
                              hour = DrawFieldOrAny(random, 0, 23),
                              day = DrawFieldOrAny(random, 1, 31),
                              month = DrawFieldOrAny(random, 1, 12),
                              weekday = DrawFieldOrAny(random, 0, 6);
            const std::string expression = minute.text + " " + hour.text + " " + day.text + " " +
                                           month.text + " " + weekday.text;
            const Dst dst = static_cast<Dst>(random() % 3);
            const Result<Cron> cron = Cron::Parse(expression, {.timezone = zone, .dst = dst});
            if (!cron) {
                // 30 February is drawn now and then.
                ASSERT_NE(cron.error().detail.find("never fire"), std::string::npos) << expression;
                continue;
            }
            const bool any_day = day.text == "*", any_weekday = weekday.text == "*";
            const auto fits = [&](const LocalMinute& t) {
                if (!minute.values.contains(t.minute) || !hour.values.contains(t.hour) ||
                    !month.values.contains(t.month)) {
                    return false;
                }
                const bool by_day = day.values.contains(t.day);
                const bool by_weekday = weekday.values.contains(t.weekday);
                if (any_day || any_weekday) return by_day && by_weekday;
                return by_day || by_weekday;
            };
            const auto expected = Expected(minutes, Hits(minutes, fits), start, fits,
                                           {hour.values.size() == 24, dst});
            const auto actual = Actual(*cron, start);
            ASSERT_TRUE(expected == actual)
                << zone << " " << expression << " dst " << static_cast<int>(dst) << ": "
                << FirstDifference(expected, actual);
            ++compared;
        }
    }
    EXPECT_GT(compared, 50);
}

// Next from any moment is the same as Next from the fire before it: a new leader, which starts at
// an odd moment, continues the same row of fires.
TEST(CronOracle, NextFromAnyMomentContinuesTheSameFires) {
    std::mt19937_64 random(7);
    for (const std::string_view expression :
         {"30 2 * * *", "*/20 0-3 * * *", "*/15 * * * *", "7 0 2 29 2 ?", "0 0 LW * 5#2"}) {
        for (const Dst dst : {Dst::kOnce, Dst::kSkip, Dst::kTwice}) {
            const Cron cron = Parsed(expression, {.timezone = "Europe/Berlin", .dst = dst});
            const std::vector<Time> fires = cron.Preview(At("2026-03-01T00:00:00Z"), 300);
            // There are 42 leap days up to 2199, the last year that is looked at.
            ASSERT_GE(fires.size(), 42u) << expression;
            for (std::size_t i = 0; i + 1 < fires.size(); ++i) {
                const auto between = std::uniform_int_distribution<std::int64_t>(
                    0, (fires[i + 1] - fires[i]).count() - 1)(random);
                ASSERT_EQ(cron.Next(fires[i] + Duration(between)), fires[i + 1]) << expression;
            }
        }
    }
}

}  // namespace
}  // namespace takt::internal
