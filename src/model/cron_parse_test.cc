#include <chrono>
#include <ostream>
#include <string>
#include <vector>

#include "model/cron_testing.h"

namespace takt::internal {
namespace {

using std::chrono::steady_clock;

struct Refused {
    std::string expression;
    std::size_t column;
    std::string field;  // Of the expression; empty if the fault is not in one.
    std::string says;   // A part of the sentence.
    friend void PrintTo(const Refused& refused, std::ostream* out) { *out << refused.expression; }
};

class CronRefusal : public testing::TestWithParam<Refused> {};

// Somebody types a schedule into a form. What is wrong must be told at once and to the character,
// or the task is found not to have run a month later.
TEST_P(CronRefusal, NamesColumnAndField) {
    const Refused& refused = GetParam();

    const Result<Cron> cron = Cron::Parse(refused.expression);

    ASSERT_FALSE(cron);
    EXPECT_EQ(cron.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(cron.error().field, "cron_expression");
    const std::string place = "column " + std::to_string(refused.column) +
                              (refused.field.empty() ? "" : " (" + refused.field + ")") + ": ";
    EXPECT_TRUE(cron.error().detail.starts_with(place)) << cron.error().detail;
    EXPECT_NE(cron.error().detail.find(refused.says), std::string::npos) << cron.error().detail;
}

INSTANTIATE_TEST_SUITE_P(
    Table, CronRefusal,
    testing::Values(
        Refused{"", 1, "", "empty"}, Refused{" \t ", 4, "", "empty"},
        Refused{"TZ=UTC", 7, "", "empty"}, Refused{"* * * *", 8, "", "4 fields"},
        Refused{"0 0 0 1 1 ? 2026 x", 18, "", "too many"},
        Refused{"*/0 * * * *", 3, "minute", "the step 0 is not in 1-60"},
        Refused{"*/61 * * * *", 3, "minute", "the step 61"},
        Refused{"*/ * * * *", 3, "minute", "the step is missing"},
        Refused{"60 * * * *", 1, "minute", "the value 60 is not in 0-59"},
        Refused{"4294967296 * * * *", 1, "minute", "the value 4294967296 is not in 0-59"},
        Refused{"123456789012345678901 * * * *", 1, "minute",
                "the value 12345678901234567890… is not in 0-59"},
        Refused{"0 24 * * *", 3, "hour", "not in 0-23"},
        Refused{"0 0 0 * *", 5, "day of month", "not in 1-31"},
        Refused{"0 0 32 * *", 5, "day of month", "not in 1-31"},
        Refused{"0 0 1 13 *", 7, "month", "not in 1-12"},
        Refused{"0 0 * * 8", 9, "day of week", "not in 0-7"},
        Refused{"60 0 0 * * *", 1, "second", "not in 0-59"},
        Refused{"0 0 0 1 1 ? 1969", 13, "year", "not in 1970-2199"},
        Refused{"0 0 0 1 1 ? 2200", 13, "year", "not in 1970-2199"},
        Refused{"99999999999999999999 * * * *", 1, "minute", "not in 0-59"},
        Refused{"5-1 * * * *", 3, "minute", "the range 5-1 runs backwards"},
        Refused{"0 0 * * 5-1", 11, "day of week", "backwards"},
        Refused{"0 0 * * FRI-1", 13, "day of week", "backwards"},
        Refused{"0 0 * NOV-FEB *", 11, "month", "backwards"},
        Refused{"0 0 * FOO *", 7, "month", "'FOO' is no name of a month"},
        Refused{"0 0 * * XYZ,MON", 9, "day of week", "'XYZ' is no name of a day"},
        Refused{"0 0 * * MONDAY", 12, "day of week", "'D' is not expected"},
        Refused{"1,,2 * * * *", 3, "minute", "a value is missing"},
        Refused{"1, * * * *", 3, "minute", "a value is missing"},
        Refused{"1- * * * *", 3, "minute", "a value is missing"},
        Refused{"-1 * * * *", 1, "minute", "'-' is not expected"},
        Refused{"1-2-3 * * * *", 4, "minute", "'-' is not expected"},
        Refused{"+1 * * * *", 1, "minute", "'+'"}, Refused{"1.5 * * * *", 2, "minute", "'.'"},
        Refused{"? * * * *", 1, "minute", "? is for day"},
        Refused{"0 0 1,? * *", 7, "day of month", "? must stand alone"},
        Refused{"0 0 * * L", 9, "day of week", "needs a weekday in front"},
        Refused{"L * * * *", 1, "minute", "'L'"},
        Refused{"0 0 L-31 * *", 7, "day of month", "1-30"},
        Refused{"0 0 L-0 * *", 7, "day of month", "1-30"},
        Refused{"0 0 W * *", 5, "day of month", "'W'"},
        Refused{"0 0 1-5W * *", 8, "day of month", "'W'"},
        Refused{"0 0 * * 5#6", 11, "day of week", "1-5"},
        Refused{"0 0 * * 5#0", 11, "day of week", "1-5"},
        Refused{"0 0 * * 5#", 11, "day of week", "missing"},
        Refused{"0 0 30 2 *", 5, "day of month", "never fire"},
        Refused{"0 0 31 4,6,9,11 *", 5, "day of month", "never fire"},
        Refused{"0 0 31W 2 *", 5, "day of month", "never fire"},
        Refused{"0 0 0 29 2 ? 2025-2027", 7, "day of month", "never fire"},
        Refused{"0 0 0 29 2 ? 2100", 7, "day of month", "never fire"},
        Refused{"0 0 0 ? 2 1#5 2025", 7, "day of month", "never fire"},
        Refused{"@dayly", 1, "", "'@dayly' is unknown"}, Refused{"@reboot", 1, "", "unknown"},
        Refused{"@daily 5", 8, "", "nothing may follow @daily"},
        Refused{"@EVERY 5s", 1, "", "'@EVERY' is unknown"},
        Refused{"@every", 7, "@every", "not a duration"},
        Refused{"@every soon", 8, "@every", "not a duration"},
        Refused{"@every 999ms", 8, "@every", "at least 1s"},
        Refused{"@every 0s", 8, "@every", "at least 1s"},
        Refused{"@every 1h 30m", 11, "@every", "only one duration"},
        Refused{"TZ=Mars/Olympus 0 2 * * *", 4, "time zone", "no time zone 'Mars/Olympus'"},
        Refused{"CRON_TZ= 0 2 * * *", 9, "time zone", "a name must follow"},
        Refused{"TZ=../../etc/passwd 0 2 * * *", 4, "time zone", "no time zone"},
        Refused{"TZ=localtime 0 2 * * *", 4, "time zone", "not the name"},
        Refused{"TZ=right/Europe/Berlin @daily", 4, "time zone", "no time zone"},
        Refused{"0 2 * *\n*", 8, "", "0x0a"}, Refused{"0 2 * * *\x7f", 10, "", "0x7f"},
        Refused{std::string("0 2\0* * *", 9), 4, "", "0x00"},
        Refused{"0 2 * * 日", 9, "", "0xe6"}));

// A pasted log file, or an attack: answered from its length alone.
TEST(CronParse, A100KilobyteExpressionIsRefusedUnread) {
    const std::string longest = "0 2 * * " + std::string(248, '1');
    const std::string huge(102'400, '*');

    EXPECT_NE(Cron::Parse(longest).error().detail.find("not in 0-7"), std::string::npos);
    const Error error = Cron::Parse(huge).error();

    EXPECT_EQ(error.code, ErrorCode::kInvalid);
    EXPECT_EQ(error.detail,
              "column 257: the expression has 102400 characters; at most 256 are allowed");
}

// "Never" must be found out while the request waits.
TEST(CronParse, AnImpossibleDateIsRefusedInBoundedTime) {
    const auto start = steady_clock::now();
    for (int i = 0; i < 10; ++i) ASSERT_FALSE(Cron::Parse("0 0 30,31 2 ?"));
    EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(1));
}

// A zone set on the task is a field of its own, and the caller marks that one.
TEST(CronParse, AnUnknownZoneOptionNamesItsOwnField) {
    for (const std::string_view zone : {"Mars/Olympus", "asia/shanghai", "Asia/", "\x01"}) {
        const Result<Cron> cron = Cron::Parse("0 2 * * *", {.timezone = zone});
        ASSERT_FALSE(cron) << zone;
        EXPECT_EQ(cron.error().code, ErrorCode::kInvalid);
        EXPECT_EQ(cron.error().field, "timezone");
    }
    // Also where the prefix goes before it.
    EXPECT_FALSE(Cron::Parse("TZ=UTC 0 2 * * *", {.timezone = "Mars/Olympus"}));
}

// A team moves its crontab over: the zone in the line means what it meant.
TEST(CronParse, ZonePrefixGoesBeforeTheOption) {
    for (const std::string_view prefix : {"TZ", "CRON_TZ"}) {
        const Cron cron = Parsed(std::string(prefix) + "=Asia/Shanghai  0 2 * * *",
                                 {.timezone = "Europe/Berlin"});
        EXPECT_EQ(cron.zone().name(), "Asia/Shanghai");
        EXPECT_EQ(*cron.Next(At("2026-01-01T00:00:00Z")), At("2026-01-01T18:00:00Z"));
    }
    EXPECT_EQ(Parsed("0 2 * * *", {.timezone = "Europe/Berlin"}).zone().name(), "Europe/Berlin");
    EXPECT_EQ(Parsed("0 2 * * *").zone().name(), "UTC");
}

struct Same {
    std::string_view a, b;
};

// People write the same schedule in many ways; all of them must fire alike.
TEST(CronParse, DifferentSpellingsOfOneScheduleFireAlike) {
    for (const Same& same : {
             Same{"@yearly", "0 0 1 1 *"},
             {"@annually", "@yearly"},
             {"@monthly", "0 0 1 * *"},
             {"@weekly", "0 0 * * 0"},
             {"@daily", "0 0 * * *"},
             {"@midnight", "@daily"},
             {"@hourly", "0 * * * *"},
             {"0 2 * * *", "0 0 2 * * *"},
             {"0 2 * * *", "0 0 2 * * * *"},
             {"0 2 * * *", "\t0  2 ? * ?  "},
             {"0 2 * * 7", "0 2 * * sun"},
             {"0 2 * * 5-7", "0 2 * * 0,5,6"},
             {"0 2 * * FRI-MON", "0 2 * * 5,6,0,1"},
             {"0 2 * * SAT-SUN", "0 2 * * 0,6"},
             {"0 2 * * FRI-MON/2", "0 2 * * 5,0"},
             {"0 2 * * 1/2", "0 2 * * 1,3,5"},
             {"0 2 * * 7/2", "0 2 * * 0"},
             {"0 2 * * */2", "0 2 * * 0,2,4,6"},
             {"0 2 1 JAN,mar-May *", "0 2 1 1,3,4,5 *"},
             {"7/20 * * * *", "7,27,47 * * * *"},
             {"10-30/7 * * * *", "10,17,24 * * * *"},
             {"*/60 * * * *", "0 * * * *"},
             {"0 0 l * *", "0 0 L * *"},
             {"0 0 * * fril", "0 0 * * 5L"},
             {"0 0 * * FRI#2", "0 0 * * 5#2"},
             {"0 0 0 1 1 ? 2030/100", "0 0 0 1 1 ? 2030,2130"},
         }) {
        const Time start = At("2026-01-01T00:00:00Z");
        const std::vector<Time> fires = Parsed(same.a).Preview(start, 200);
        EXPECT_FALSE(fires.empty()) << same.a;
        EXPECT_EQ(fires, Parsed(same.b).Preview(start, 200)) << same.a << " and " << same.b;
    }
}

// A million cron tasks in one scheduler.
TEST(CronParse, AMillionCronsTakeAbout100Megabytes) {
    EXPECT_EQ(sizeof(Cron), 104u);
    EXPECT_TRUE(std::is_trivially_copyable_v<Cron>);
}

}  // namespace
}  // namespace takt::internal
