#include "base/time.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

std::string Shown(std::string_view text) {
    const Result<Time> time = ParseTime(text);
    return time ? FormatTime(*time) : "refused";
}

// Times as other programs write them, and as Takt answers.
TEST(TimeTest, TimesAreReadInEveryFormOfRfc3339) {
    EXPECT_EQ(Shown("2026-11-15T02:03:04Z"), "2026-11-15T02:03:04.000Z");
    EXPECT_EQ(Shown("2026-11-15t02:03:04z"), "2026-11-15T02:03:04.000Z");
    EXPECT_EQ(Shown("2026-11-15 02:03:04.5Z"), "2026-11-15T02:03:04.500Z");
    EXPECT_EQ(Shown("2026-11-15T02:03:04.123456789Z"), "2026-11-15T02:03:04.123Z");
    EXPECT_EQ(Shown("2026-11-15T02:03:04.999999999Z"), "2026-11-15T02:03:04.999Z");
    EXPECT_EQ(Shown("2026-11-15T02:03:04+08:00"), "2026-11-14T18:03:04.000Z");
    EXPECT_EQ(Shown("2026-12-31T23:30:00-01:00"), "2027-01-01T00:30:00.000Z");
    EXPECT_EQ(Shown("2026-11-15T02:03:04-00:00"), "2026-11-15T02:03:04.000Z");
    EXPECT_EQ(Shown("2024-02-29T00:00:00Z"), "2024-02-29T00:00:00.000Z");
    EXPECT_EQ(Shown("2016-12-31T23:59:60Z"), "2017-01-01T00:00:00.000Z");
    EXPECT_EQ(Shown("1970-01-01T00:00:00Z"), "1970-01-01T00:00:00.000Z");
    EXPECT_EQ(Shown("9999-12-31T23:59:59.999Z"), "9999-12-31T23:59:59.999Z");
}

// A form sends something else; a wrong guess would run a task at a wrong time.
TEST(TimeTest, OtherTextsAreRefused) {
    for (const char* text : {"",
                             "now",
                             "2026-11-15",
                             "2026-11-15T02:03:04",
                             "2026-11-15T02:03Z",
                             "2026-11-15T24:00:00Z",
                             "2026-11-15T02:60:00Z",
                             "2026-11-15T02:03:61Z",
                             "2026-13-01T00:00:00Z",
                             "2026-00-01T00:00:00Z",
                             "2026-02-30T00:00:00Z",
                             "2025-02-29T00:00:00Z",
                             "2026-11-15T02:03:04.Z",
                             "2026-11-15T02:03:04.1234567890Z",
                             "2026-11-15T02:03:04+0800",
                             "2026-11-15T02:03:04+24:00",
                             "2026-11-15T02:03:04+08:60",
                             "2026-11-15T02:03:04Z ",
                             " 2026-11-15T02:03:04Z",
                             "20261115T020304Z",
                             "+026-11-15T02:03:04Z",
                             "1969-12-31T23:59:59Z",
                             "12026-11-15T02:03:04Z"}) {
        const Result<Time> time = ParseTime(text);
        ASSERT_FALSE(time) << text;
        EXPECT_EQ(time.error().code, ErrorCode::kInvalid);
    }
}

// The digits are within bounds, but the offset carries the moment out of them.
TEST(TimeTest, AnOffsetDoesNotLeadOutOfTheYearsThatCanBeWritten) {
    EXPECT_EQ(Shown("1970-01-01T00:00:00+00:01"), "refused");
    EXPECT_EQ(Shown("9999-12-31T23:59:59-00:01"), "refused");
    EXPECT_EQ(Shown("9999-12-31T23:59:60Z"), "refused");
    EXPECT_EQ(Shown("1970-01-01T00:00:00-00:01"), "1970-01-01T00:01:00.000Z");
}

// A damaged row has an absurd time; the page that shows it must still be valid.
TEST(TimeTest, TimesThatCannotBeWrittenAreShownAsTheNearest) {
    EXPECT_EQ(FormatTime(Time(-1ms)), "1970-01-01T00:00:00.000Z");
    EXPECT_EQ(FormatTime(Time(Duration::min())), "1970-01-01T00:00:00.000Z");
    EXPECT_EQ(FormatTime(Time(Duration::max())), "9999-12-31T23:59:59.999Z");
}

// Every day of four centuries, so that no month or leap year is off by one.
TEST(TimeTest, EveryDayReadsBack) {
    const std::chrono::sys_days first = std::chrono::year(1970) / 1 / 1;
    for (int day = 0; day < 400 * 366; day += 1) {
        const Time time = first + std::chrono::days(day) + Duration(day * 577 % 86'400'000);
        ASSERT_EQ(ParseTime(FormatTime(time)), time) << FormatTime(time);
    }
}

// Durations as people write them in a configuration.
TEST(DurationTest, DurationsAreNumbersWithUnits) {
    EXPECT_EQ(ParseDuration("90s"), 90s);
    EXPECT_EQ(ParseDuration("1h30m"), 90min);
    EXPECT_EQ(ParseDuration("250ms"), 250ms);
    EXPECT_EQ(ParseDuration("2d"), 48h);
    EXPECT_EQ(ParseDuration("1.5s"), 1500ms);
    EXPECT_EQ(ParseDuration("1m0.25s"), 60'250ms);
    EXPECT_EQ(ParseDuration("0s"), 0ms);
    EXPECT_EQ(ParseDuration("0.0004s"), 0ms);
    EXPECT_EQ(ParseDuration("36525d"), kDurationMax);
}

TEST(DurationTest, OtherTextsAreNoDurations) {
    const std::string long_number(100'000, '9');
    for (const std::string& text :
         {std::string(""), std::string("90"), std::string("s"), std::string("-1s"),
          std::string("+1s"), std::string("1 s"), std::string("1S"), std::string("1w"),
          std::string("1.s"), std::string("1.5h30m"), std::string("1..5s"), std::string("1e3s"),
          std::string("36526d"), std::string("36525d1ms"), std::string("infs"),
          std::string("0x10s"), long_number + "s", long_number + "." + long_number + "s"}) {
        EXPECT_FALSE(ParseDuration(text)) << text.substr(0, 40);
    }
}

TEST(DurationTest, ADurationReadsBackFromItsSpelling) {
    EXPECT_EQ(FormatDuration(90min), "1h30m");
    EXPECT_EQ(FormatDuration(250ms), "250ms");
    EXPECT_EQ(FormatDuration(0ms), "0s");
    EXPECT_EQ(FormatDuration(-5s), "0s");
    for (const Duration duration : {Duration(1), Duration(999), Duration(1'001),
                                    Duration(86'400'000), Duration(90'061'001), kDurationMax}) {
        EXPECT_EQ(ParseDuration(FormatDuration(duration)), duration);
    }
}

// A lease is measured with the steady clock: it never goes back.
TEST(ClockTest, SteadyTimeNeverGoesBack) {
    Steady last = SteadyClock::now();
    for (int i = 0; i < 1000; ++i) {
        const Instant now = ReadClocks();
        EXPECT_GE(now.steady, last);
        last = now.steady;
    }
}

}  // namespace
}  // namespace takt::internal
