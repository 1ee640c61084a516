// Cron by table: calendars and limits. All times are written out by hand from calendars.
#include <string>
#include <vector>

#include "model/cron_testing.h"

namespace takt::internal {
namespace {

using Times = std::vector<std::string>;

struct Row {
    std::string_view expression;
    std::string_view after;
    std::vector<std::string_view> fires;  // The next ones, UTC.
};

void Check(const std::vector<Row>& rows, const CronOptions& options = {}) {
    for (const Row& row : rows) {
        const Cron cron = Parsed(row.expression, options);
        const std::vector<Time> fires = cron.Preview(At(row.after), row.fires.size());
        Times texts, expected;
        for (const Time time : fires) texts.push_back(FormatTime(time));
        for (const std::string_view time : row.fires) expected.push_back(FormatTime(At(time)));
        EXPECT_EQ(texts, expected) << row.expression << " after " << row.after;
    }
}

// The schedules of every operations team.
TEST(Cron, FindsTheNextFire) {
    Check({
        {"0 2 * * *", "2026-11-15T01:59:59.999Z", {"2026-11-15T02:00:00Z", "2026-11-16T02:00:00Z"}},
        {"0 2 * * *", "2026-11-15T02:00:00Z", {"2026-11-16T02:00:00Z"}},
        {"*/15 * * * *", "2026-12-31T23:44:00Z", {"2026-12-31T23:45:00Z", "2027-01-01T00:00:00Z"}},
        {"30 5 2 * * *", "2026-01-01T02:05:29.001Z", {"2026-01-01T02:05:30Z"}},
        {"58/1 59 23 31 12 *",
         "2026-12-31T23:59:58Z",
         {"2026-12-31T23:59:59Z", "2027-12-31T23:59:58Z"}},
        {"0 9 * * MON-FRI", "2026-11-13T09:00:00Z", {"2026-11-16T09:00:00Z"}},
        {"0 0 0 1 1 ? 2030,2040",
         "2026-01-01T00:00:00Z",
         {"2030-01-01T00:00:00Z", "2040-01-01T00:00:00Z"}},
    });
}

// Both kinds of day given: either fits, as in every crontab since 1979.
TEST(Cron, DayOfMonthOrDayOfWeekIsEnough) {
    Check({
        {"0 0 13 * 5",
         "2026-11-06T00:00:00Z",
         {"2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z", "2026-11-27T00:00:00Z",
          "2026-12-04T00:00:00Z", "2026-12-11T00:00:00Z", "2026-12-13T00:00:00Z"}},
        {"0 0 1-31 * 5", "2026-11-06T00:00:00Z", {"2026-11-07T00:00:00Z"}},
        {"0 0 ? * 5", "2026-11-06T00:00:00Z", {"2026-11-13T00:00:00Z"}},
        {"0 0 13 * ?", "2026-11-06T00:00:00Z", {"2026-11-13T00:00:00Z", "2026-12-13T00:00:00Z"}},
    });
}

// Month-end closing and payday.
TEST(Cron, KnowsTheLastDayAndTheNearestWeekday) {
    Check({
        {"0 0 L * *",
         "2026-01-31T00:00:00Z",
         {"2026-02-28T00:00:00Z", "2026-03-31T00:00:00Z", "2026-04-30T00:00:00Z"}},
        {"0 0 L 2 *", "2027-03-01T00:00:00Z", {"2028-02-29T00:00:00Z"}},
        {"0 0 L-3 * *", "2026-02-01T00:00:00Z", {"2026-02-25T00:00:00Z", "2026-03-28T00:00:00Z"}},
        {"0 0 L-30 * *", "2026-01-01T00:00:00Z", {"2026-03-01T00:00:00Z", "2026-05-01T00:00:00Z"}},
        // 15 August 2026 is a Saturday, 15 November a Sunday.
        {"0 0 15W * *", "2026-08-01T00:00:00Z", {"2026-08-14T00:00:00Z", "2026-09-15T00:00:00Z"}},
        {"0 0 15W * *", "2026-11-01T00:00:00Z", {"2026-11-16T00:00:00Z"}},
        // 1 August 2026 is a Saturday: not the Friday before, that is July. 31 May is a Sunday.
        {"0 0 1W * *", "2026-07-31T00:00:00Z", {"2026-08-03T00:00:00Z"}},
        {"0 0 31W * *", "2026-04-01T00:00:00Z", {"2026-05-29T00:00:00Z", "2026-07-31T00:00:00Z"}},
        {"0 0 LW * *", "2026-05-01T00:00:00Z", {"2026-05-29T00:00:00Z", "2026-06-30T00:00:00Z"}},
        {"0 0 LW 10 *", "2026-05-01T00:00:00Z", {"2026-10-30T00:00:00Z"}},
    });
}

// Patch day, the second Tuesday; the report of the last Friday.
TEST(Cron, KnowsTheNthAndTheLastWeekdayOfAMonth) {
    Check({
        {"0 0 * * 2#2", "2026-11-01T00:00:00Z", {"2026-11-10T00:00:00Z", "2026-12-08T00:00:00Z"}},
        {"0 0 * * 5L", "2026-10-31T00:00:00Z", {"2026-11-27T00:00:00Z", "2026-12-25T00:00:00Z"}},
        {"0 0 * * 1#5", "2026-11-01T00:00:00Z", {"2026-11-30T00:00:00Z", "2027-03-29T00:00:00Z"}},
        {"0 0 * * 7#1", "2026-11-01T00:00:00Z", {"2026-12-06T00:00:00Z"}},
        {"0 0 * * 0L", "2026-11-01T00:00:00Z", {"2026-11-29T00:00:00Z"}},
    });
}

// Birthdays on 29 February; a fifth Monday in February comes every 28 years, and 2100 breaks the
// row.
TEST(Cron, KnowsLeapYears) {
    Check({
        {"0 0 29 2 *", "2026-01-01T00:00:00Z", {"2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"}},
        {"0 0 29 2 *", "2096-03-01T00:00:00Z", {"2104-02-29T00:00:00Z"}},
        {"0 0 29 2 *", "1999-03-01T00:00:00Z", {"2000-02-29T00:00:00Z"}},
        {"0 0 * 2 1#5",
         "2026-01-01T00:00:00Z",
         {"2044-02-29T00:00:00Z", "2072-02-29T00:00:00Z", "2112-02-29T00:00:00Z"}},
    });
}

// Past the end of 32-bit time, and past the last change that zone files record.
TEST(Cron, GoesOnAfter2038) {
    Check({{"14 3 * * *", "2038-01-18T03:14:00Z", {"2038-01-19T03:14:00Z", "2038-01-20T03:14:00Z"}},
           {"0 0 1 1 *", "2106-02-08T00:00:00Z", {"2107-01-01T00:00:00Z"}}});
    Check({{"0 2 * * *", "2150-07-01T12:00:00Z", {"2150-07-02T00:00:00Z"}},
           {"0 2 * * *", "2150-12-01T12:00:00Z", {"2150-12-02T01:00:00Z"}}},
          {.timezone = "Europe/Berlin"});
}

// The edges of what is offered: nothing overflows, and the end is an answer, not an endless search.
TEST(Cron, EndsWithTheYear2199) {
    const Cron daily = Parsed("@daily");
    EXPECT_EQ(daily.Next(At("2199-12-30T00:00:00Z")), At("2199-12-31T00:00:00Z"));
    EXPECT_EQ(daily.Next(At("2199-12-31T00:00:00Z")), std::nullopt);
    EXPECT_EQ(daily.Next(Time::max()), std::nullopt);
    EXPECT_EQ(daily.Next(Time::min()), At("1970-01-01T00:00:00Z"));
    EXPECT_EQ(Parsed("0 0 0 1 1 ? 2020").Next(At("2026-01-01T00:00:00Z")), std::nullopt);
    EXPECT_EQ(
        Parsed("0 0 0 1 1 ? 2020", {.timezone = "Europe/Berlin"}).Next(At("2026-01-01T00:00:00Z")),
        std::nullopt);
    // 2199 ends earlier in Kiritimati (UTC+14) and later in Pago Pago (UTC-11).
    EXPECT_EQ(
        Parsed("59 23 * * *", {.timezone = "Pacific/Pago_Pago"}).Next(At("2199-12-31T12:00:00Z")),
        At("2200-01-01T10:59:00Z"));
    EXPECT_EQ(Parsed("0 0 * * *", {.timezone = "Pacific/Kiritimati"}).Next(Time::min()),
              At("1970-01-01T10:40:00Z"));
    const Cron every = Parsed("@every 36500d");
    EXPECT_EQ(every.Next(Time::min()), Time{});
    EXPECT_EQ(every.Next(Time::max()), std::nullopt);
    EXPECT_EQ(every.Next(At("2199-01-01T00:00:00Z")), std::nullopt);
}

// Two schedulers that never spoke must agree on when "every 90 seconds" is.
TEST(Cron, EveryCountsFromTheEpoch) {
    Check({{"@every 90s", "2026-01-01T00:00:00Z", {"2026-01-01T00:01:30Z", "2026-01-01T00:03:00Z"}},
           {"@every 1500ms",
            "2026-01-01T00:00:00Z",
            {"2026-01-01T00:00:01.5Z", "2026-01-01T00:00:03Z"}},
           {"@every 7h", "2026-01-02T00:00:00Z", {"2026-01-02T04:00:00Z", "2026-01-02T11:00:00Z"}},
           {"TZ=Asia/Kolkata @every 1h", "2026-01-01T00:10:00Z", {"2026-01-01T01:00:00Z"}}});
    EXPECT_EQ(Parsed("@every 90s").every(), std::chrono::seconds(90));
    EXPECT_EQ(Parsed("@daily").every(), Duration(0));
}

// The preview in the console; a count from a URL must not become a loop over years.
TEST(Cron, PreviewIsBounded) {
    EXPECT_TRUE(Parsed("* * * * * *").Preview(At("2026-01-01T00:00:00Z"), 0).empty());
    EXPECT_EQ(Parsed("* * * * * *").Preview(At("2026-01-01T00:00:00Z"), 1'000'000'000).size(),
              1000u);
    EXPECT_EQ(Parsed("0 0 0 1 1 ? 2030").Preview(At("2026-01-01T00:00:00Z"), 5).size(), 1u);
}

}  // namespace
}  // namespace takt::internal
