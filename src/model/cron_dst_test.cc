// Cron by table: daylight saving time. All times are written out by hand from the zones' published
// changes.
#include <string>
#include <string_view>
#include <vector>

#include "model/cron_testing.h"

namespace takt::internal {
namespace {

using Times = std::vector<std::string>;

struct DstRow {
    std::string_view zone;
    std::string_view expression;
    std::string_view after;  // With the offset in force: local time is readable.
    std::string_view until;
    Times once, skip, twice;
};

void CheckDst(const std::vector<DstRow>& rows) {
    for (const DstRow& row : rows) {
        const auto fires = [&](Dst dst) {
            return Fires(Parsed(row.expression, {.timezone = row.zone, .dst = dst}), row.after,
                         row.until);
        };
        EXPECT_EQ(fires(Dst::kOnce), row.once) << row.zone << " " << row.expression << " once";
        EXPECT_EQ(fires(Dst::kSkip), row.skip) << row.zone << " " << row.expression << " skip";
        EXPECT_EQ(fires(Dst::kTwice), row.twice) << row.zone << " " << row.expression << " twice";
    }
}

// The nightly job at half past two, on the Sunday when half past two does not exist.
TEST(CronDst, ATimeInAGapFiresWhenTheClockJumps) {
    const Times at_jump = {"2026-03-29T01:00:00Z"};
    CheckDst({
        // 02:00 +01:00 becomes 03:00 +02:00 at 01:00 UTC.
        {"Europe/Berlin",
         "30 2 * * *",
         "2026-03-29T00:00:00+01:00",
         "2026-03-29T23:00:00+02:00",
         at_jump,
         {},
         at_jump},
        {"Europe/Berlin",
         "0 2 * * *",
         "2026-03-29T00:00:00+01:00",
         "2026-03-29T23:00:00+02:00",
         at_jump,
         {},
         at_jump},
        // Twelve times in one gap are one fire, and 03:00 on the same moment is not another.
        {"Europe/Berlin",
         "*/5 2 * * *",
         "2026-03-29T00:00:00+01:00",
         "2026-03-29T23:00:00+02:00",
         at_jump,
         {},
         at_jump},
        {"Europe/Berlin",
         "0,30 2-3 * * *",
         "2026-03-29T00:00:00+01:00",
         "2026-03-29T23:00:00+02:00",
         {"2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"},
         {"2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"},
         {"2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"}},
        {"Europe/Berlin",
         "30 2-3 * * *",
         "2026-03-29T00:00:00+01:00",
         "2026-03-29T23:00:00+02:00",
         {"2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"},
         {"2026-03-29T01:30:00Z"},
         {"2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"}},
        // Every two hours: 02:00 is made up for at 03:00.
        {"Europe/Berlin",
         "0 */2 * * *",
         "2026-03-28T23:30:00+01:00",
         "2026-03-29T05:00:00+02:00",
         {"2026-03-28T23:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"},
         {"2026-03-28T23:00:00Z", "2026-03-29T02:00:00Z"},
         {"2026-03-28T23:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"}},
        // Just before and just after the gap nothing is special.
        {"Europe/Berlin",
         "59 59 1 * * *",
         "2026-03-29T00:00:00+01:00",
         "2026-03-29T23:00:00+02:00",
         {"2026-03-29T00:59:59Z"},
         {"2026-03-29T00:59:59Z"},
         {"2026-03-29T00:59:59Z"}},
        {"America/New_York",
         "30 2 * * *",
         "2026-03-08T00:00:00-05:00",
         "2026-03-08T23:00:00-04:00",
         {"2026-03-08T07:00:00Z"},
         {},
         {"2026-03-08T07:00:00Z"}},
        // On Lord Howe the clock jumps half an hour, 02:00 to 02:30.
        {"Australia/Lord_Howe",
         "15 2 * * *",
         "2026-10-04T00:00:00+10:30",
         "2026-10-04T23:00:00+11:00",
         {"2026-10-03T15:30:00Z"},
         {},
         {"2026-10-03T15:30:00Z"}},
        {"Australia/Lord_Howe",
         "45 2 * * *",
         "2026-10-04T00:00:00+10:30",
         "2026-10-04T23:00:00+11:00",
         {"2026-10-03T15:45:00Z"},
         {"2026-10-03T15:45:00Z"},
         {"2026-10-03T15:45:00Z"}},
        // In São Paulo 4 November 2018 began at 01:00: @daily fires then, and once.
        {"America/Sao_Paulo",
         "@daily",
         "2018-11-03T12:00:00-03:00",
         "2018-11-05T12:00:00-02:00",
         {"2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},
         {"2018-11-05T02:00:00Z"},
         {"2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"}},
        // In Apia 30 December 2011 did not take place: 24 hours of gap.
        {"Pacific/Apia",
         "0 12 * * *",
         "2011-12-28T13:00:00-10:00",
         "2011-12-31T13:00:00+14:00",
         {"2011-12-29T22:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"},
         {"2011-12-29T22:00:00Z", "2011-12-30T22:00:00Z"},
         {"2011-12-29T22:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"}},
        {"Pacific/Apia",
         "0 0 30 12 *",
         "2011-01-01T00:00:00-10:00",
         "2012-12-31T00:00:00+14:00",
         {"2011-12-30T10:00:00Z", "2012-12-29T10:00:00Z"},
         {"2012-12-29T10:00:00Z"},
         {"2011-12-30T10:00:00Z", "2012-12-29T10:00:00Z"}},
    });
}

// The nightly billing run at half past two, on the Sunday with two of them: once unless asked for.
TEST(CronDst, ATimeThatComesTwiceFiresOnceUnlessAskedFor) {
    const Times first = {"2026-10-25T00:30:00Z"};
    CheckDst({
        // 03:00 +02:00 becomes 02:00 +01:00 at 01:00 UTC.
        {"Europe/Berlin",
         "30 2 * * *",
         "2026-10-25T00:00:00+02:00",
         "2026-10-25T23:00:00+01:00",
         first,
         first,
         {"2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"}},
        // 03:00 comes once: what the clock shows at the change is 02:00.
        {"Europe/Berlin",
         "0 3 * * *",
         "2026-10-25T00:00:00+02:00",
         "2026-10-25T23:00:00+01:00",
         {"2026-10-25T02:00:00Z"},
         {"2026-10-25T02:00:00Z"},
         {"2026-10-25T02:00:00Z"}},
        {"Europe/Berlin",
         "0,30 1-3 * * *",
         "2026-10-25T00:00:00+02:00",
         "2026-10-25T23:00:00+01:00",
         {"2026-10-24T23:00:00Z", "2026-10-24T23:30:00Z", "2026-10-25T00:00:00Z",
          "2026-10-25T00:30:00Z", "2026-10-25T02:00:00Z", "2026-10-25T02:30:00Z"},
         {"2026-10-24T23:00:00Z", "2026-10-24T23:30:00Z", "2026-10-25T00:00:00Z",
          "2026-10-25T00:30:00Z", "2026-10-25T02:00:00Z", "2026-10-25T02:30:00Z"},
         {"2026-10-24T23:00:00Z", "2026-10-24T23:30:00Z", "2026-10-25T00:00:00Z",
          "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z",
          "2026-10-25T02:00:00Z", "2026-10-25T02:30:00Z"}},
        {"America/New_York",
         "30 1 * * *",
         "2026-11-01T00:00:00-04:00",
         "2026-11-01T23:00:00-05:00",
         {"2026-11-01T05:30:00Z"},
         {"2026-11-01T05:30:00Z"},
         {"2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"}},
        {"Australia/Lord_Howe",
         "0,45 1 * * *",
         "2026-04-05T00:00:00+11:00",
         "2026-04-05T23:00:00+10:30",
         {"2026-04-04T14:00:00Z", "2026-04-04T14:45:00Z"},
         {"2026-04-04T14:00:00Z", "2026-04-04T14:45:00Z"},
         {"2026-04-04T14:00:00Z", "2026-04-04T14:45:00Z", "2026-04-04T15:15:00Z"}},
        // In São Paulo 18 February 2018 had 00:00 at its beginning only; the 17th had two 23:30.
        {"America/Sao_Paulo",
         "30 23 * * 6",
         "2018-02-17T12:00:00-02:00",
         "2018-02-18T12:00:00-03:00",
         {"2018-02-18T01:30:00Z"},
         {"2018-02-18T01:30:00Z"},
         {"2018-02-18T01:30:00Z", "2018-02-18T02:30:00Z"}},
        {"America/Sao_Paulo",
         "@daily",
         "2018-02-17T12:00:00-02:00",
         "2018-02-18T12:00:00-03:00",
         {"2018-02-18T03:00:00Z"},
         {"2018-02-18T03:00:00Z"},
         {"2018-02-18T03:00:00Z"}},
    });
}

// A poller every 15 minutes and an hourly report must neither pause nor hurry, twice a year, for
// whatever the option says: they name no time of the day.
TEST(CronDst, AnExpressionForEveryHourKeepsItsPace) {
    struct Steady {
        std::string_view zone, expression, after;
        std::int64_t seconds;
    };
    for (const Steady& row : {
             Steady{"Europe/Berlin", "*/15 * * * *", "2026-10-24T23:00:00Z", 900},
             {"Europe/Berlin", "*/15 * * * *", "2026-03-28T23:00:00Z", 900},
             {"Europe/Berlin", "30 * * * *", "2026-10-24T22:30:00Z", 3600},
             {"Europe/Berlin", "30 0-23 * * *", "2026-03-28T22:30:00Z", 3600},
             {"Europe/Berlin", "* * * * * *", "2026-10-25T00:58:00Z", 1},
             {"America/New_York", "@hourly", "2026-11-01T03:00:00Z", 3600},
             {"Australia/Lord_Howe", "*/15 * * * *", "2026-04-04T12:00:00Z", 900},
             {"Australia/Lord_Howe", "*/15 * * * *", "2026-10-03T12:00:00Z", 900},
             {"Pacific/Apia", "@hourly", "2011-12-30T04:00:00Z", 3600},
         }) {
        for (const Dst dst : {Dst::kOnce, Dst::kSkip, Dst::kTwice}) {
            const Cron cron = Parsed(row.expression, {.timezone = row.zone, .dst = dst});
            Time time = At(row.after);
            for (int i = 0; i < 200; ++i) {
                const auto next = cron.Next(time);
                ASSERT_TRUE(next);
                ASSERT_EQ(*next - time, std::chrono::seconds(row.seconds))
                    << row.zone << " " << row.expression << " " << FormatTime(time);
                time = *next;
            }
        }
    }
    // On Lord Howe an hourly report sees the half hour: the wall shows :00 after 30 or 90 minutes.
    EXPECT_EQ(Fires(Parsed("@hourly", {.timezone = "Australia/Lord_Howe"}),
                    "2026-10-04T01:30:00+10:30", "2026-10-04T04:00:00+11:00"),
              (Times{"2026-10-03T16:00:00Z", "2026-10-03T17:00:00Z"}));
}

// A leader that starts in the middle of the repeated hour must not fire again what its predecessor
// fired before the change.
TEST(CronDst, AStartInsideTheRepeatedHourFiresNothingAgain) {
    const Cron cron = Parsed("30 2 * * *", {.timezone = "Europe/Berlin"});
    EXPECT_EQ(cron.Next(At("2026-10-25T01:10:00Z")), At("2026-10-26T01:30:00Z"));
    EXPECT_EQ(cron.Next(At("2026-10-25T00:10:00Z")), At("2026-10-25T00:30:00Z"));
    EXPECT_EQ(cron.Next(At("2026-03-29T01:00:00Z")), At("2026-03-30T00:30:00Z"));
    EXPECT_EQ(cron.Next(At("2026-03-29T00:59:59.999Z")), At("2026-03-29T01:00:00Z"));
}

// A one-time date that falls into a gap, far away: found across hundreds of changes.
TEST(CronDst, AFarDateInAGapIsFound) {
    const CronOptions berlin = {.timezone = "Europe/Berlin"};
    // 30 March 2160 is a Sunday, the last of March.
    EXPECT_EQ(Parsed("0 30 2 30 3 ? 2160", berlin).Next(At("2026-01-01T00:00:00Z")),
              At("2160-03-30T01:00:00Z"));
    EXPECT_EQ(Parsed("0 30 2 30 3 ? 2160", {.timezone = "Europe/Berlin", .dst = Dst::kSkip})
                  .Next(At("2026-01-01T00:00:00Z")),
              std::nullopt);
}

}  // namespace
}  // namespace takt::internal
