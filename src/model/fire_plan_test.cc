#include "model/fire_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace takt::internal {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

Time At(std::string_view text) {
    return text.empty() ? Time{} : ParseTime(text).value();
}

constexpr std::string_view kMade = "2026-01-01T00:00:10Z";

// --- Next ---------------------------------------------------------------------------------------

struct NextCase {
    std::string situation;
    Recurrence recurrence;
    std::string after;
    std::string next;  // Empty: none.
};

TEST(FirePlan, NextIsTheFirstDueTimeStrictlyAfter) {
    const std::vector<NextCase> cases = {
        {"cron", {.cron = "0 2 * * *"}, "2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"},
        {"cron, strictly", {.cron = "0 2 * * *"}, "2026-01-01T02:00:00Z", "2026-01-02T02:00:00Z"},
        {"cron in a zone",
         {.cron = "0 2 * * *", .timezone = "Asia/Shanghai"},
         "2026-01-01T01:00:00Z",
         "2026-01-01T18:00:00Z"},
        {"rate, from when it was made",
         {.every = 1min},
         "2026-01-01T00:00:10Z",
         "2026-01-01T00:01:10Z"},
        {"rate, between", {.every = 1min}, "2026-01-01T00:05:00Z", "2026-01-01T00:05:10Z"},
        {"rate, from its start",
         {.every = 1min, .start_at = At("2026-01-01T00:30:00Z")},
         "2026-01-01T00:05:00Z",
         "2026-01-01T00:30:00Z"},
        {"rate, after its start",
         {.every = 1min, .start_at = At("2026-01-01T00:30:00Z")},
         "2026-01-01T00:30:00Z",
         "2026-01-01T00:31:00Z"},
        {"delay", {.every_after_end = 90s}, "2026-01-01T01:00:00Z", "2026-01-01T01:01:30Z"},
        {"delay, not before its start",
         {.every_after_end = 1h, .start_at = At("2027-01-01T00:00:00Z")},
         "2026-01-01T01:00:00Z",
         "2027-01-01T00:00:00Z"},
        {"delay, into its start",
         {.every_after_end = 1h, .start_at = At("2026-01-01T01:30:00Z")},
         "2026-01-01T01:00:00Z",
         "2026-01-01T02:00:00Z"},
        {"delay, over an excluded day to the first moment of the next",
         {.every_after_end = 13h, .excluded_dates = {"2026-01-02"}},
         "2026-01-01T12:00:00Z",
         "2026-01-03T00:00:00Z"},
        {"delay, over an excluded day of its zone",
         {.timezone = "Asia/Shanghai", .every_after_end = 13h, .excluded_dates = {"2026-01-02"}},
         "2026-01-01T12:00:00Z",
         "2026-01-02T16:00:00Z"},
        {"delay, past its end",
         {.every_after_end = 1h, .end_at = At("2026-01-01T02:00:00Z")},
         "2026-01-01T01:00:00Z",
         ""},
        {"start in the middle of a cron's day",
         {.cron = "0 2 * * *", .start_at = At("2026-01-05T02:00:00Z")},
         "2026-01-01T01:00:00Z",
         "2026-01-05T02:00:00Z"},
        {"the end is no due time any more",
         {.cron = "0 2 * * *", .end_at = At("2026-01-02T02:00:00Z")},
         "2026-01-01T02:00:00Z",
         ""},
        {"just before the end",
         {.cron = "0 2 * * *", .end_at = At("2026-01-02T02:00:00.001Z")},
         "2026-01-01T02:00:00Z",
         "2026-01-02T02:00:00Z"},
        {"two excluded days in a row",
         {.cron = "0 2 * * *", .excluded_dates = {"2026-01-03", "2026-01-02"}},
         "2026-01-01T02:00:00Z",
         "2026-01-04T02:00:00Z"},
        {"an excluded day is a day of the zone",
         {.cron = "0 2 * * *", .timezone = "Asia/Shanghai", .excluded_dates = {"2026-01-02"}},
         "2026-01-01T01:00:00Z",
         "2026-01-02T18:00:00Z"},
        {"a rate goes on in its step after an excluded day",
         {.every = 7h, .excluded_dates = {"2026-01-02"}},
         "2026-01-01T21:00:10Z",
         "2026-01-03T01:00:10Z"},
        {"excluded until the end",
         {.cron = "0 2 * * *",
          .end_at = At("2026-01-03T00:00:00Z"),
          .excluded_dates = {"2026-01-02"}},
         "2026-01-01T02:00:00Z",
         ""},
    };
    for (const NextCase& c : cases) {
        const auto plan = FirePlan::Make(c.recurrence, At(kMade));
        ASSERT_TRUE(plan) << c.situation << ": " << plan.error().detail;
        const auto next = plan->Next(At(c.after));
        if (c.next.empty()) {
            EXPECT_FALSE(next) << c.situation << ": " << FormatTime(*next);
        } else {
            ASSERT_TRUE(next) << c.situation;
            EXPECT_EQ(FormatTime(*next), FormatTime(At(c.next))) << c.situation;
        }
    }
}

// Berlin sets its clock back on an excluded Sunday: that day has 25 hours.
TEST(FirePlan, AnExcludedDayIsExcludedToItsEndAlsoIfItIsLonger) {
    const auto plan = FirePlan::Make(
        {.cron = "30 * * * *", .timezone = "Europe/Berlin", .excluded_dates = {"2026-10-25"}},
        At(kMade));
    ASSERT_TRUE(plan);

    EXPECT_EQ(FormatTime(*plan->Next(At("2026-10-24T21:30:00Z"))),
              FormatTime(At("2026-10-25T23:30:00Z")));
}

// Berlin sets its clock forward on an excluded Sunday: that day has 23 hours.
TEST(FirePlan, AnExcludedDayIsExcludedToItsEndAlsoIfItIsShorter) {
    const auto plan = FirePlan::Make(
        {.cron = "30 * * * *", .timezone = "Europe/Berlin", .excluded_dates = {"2026-03-29"}},
        At(kMade));
    ASSERT_TRUE(plan);

    EXPECT_EQ(FormatTime(*plan->Next(At("2026-03-28T22:30:00Z"))),
              FormatTime(At("2026-03-29T22:30:00Z")));
}

// Havana skips the first hour of a Sunday: the day after an excluded Saturday begins at one.
TEST(FirePlan, TheDayAfterAnExcludedOneMayBeginLate) {
    const auto plan = FirePlan::Make(
        {.timezone = "America/Havana", .every_after_end = 1h, .excluded_dates = {"2026-03-07"}},
        At(kMade));
    ASSERT_TRUE(plan);

    EXPECT_EQ(FormatTime(*plan->Next(At("2026-03-07T12:00:00Z"))),
              FormatTime(At("2026-03-08T05:00:00Z")));
}

TEST(FirePlan, TheFirstFireOfAFixedDelayIsAtOnceUnlessItsTimesSayOtherwise) {
    const auto first = [](Recurrence recurrence) {
        recurrence.every_after_end = 1h;
        const auto plan = FirePlan::Make(recurrence, At(kMade));
        const auto time = plan ? plan->First(At("2026-01-01T12:00:00Z")) : std::nullopt;
        return time ? FormatTime(*time) : "";
    };
    EXPECT_EQ(first({}), "2026-01-01T12:00:00.000Z");
    EXPECT_EQ(first({.start_at = At("2026-01-05T00:00:00Z")}), "2026-01-05T00:00:00.000Z");
    EXPECT_EQ(first({.excluded_dates = {"2026-01-01"}}), "2026-01-02T00:00:00.000Z");
    EXPECT_EQ(first({.end_at = At("2026-01-01T11:00:00Z")}), "");
}

TEST(FirePlan, TheFirstFireOfAFixedRateIsOneIntervalAfterItWasMadeOrAtItsStart) {
    const auto first = [](const Recurrence& recurrence) {
        const auto plan = FirePlan::Make(recurrence, At(kMade));
        const auto time = plan ? plan->First(At(kMade)) : std::nullopt;
        return time ? FormatTime(*time) : "";
    };
    EXPECT_EQ(first({.every = 1h}), "2026-01-01T01:00:10.000Z");
    EXPECT_EQ(first({.every = 1h, .start_at = At("2026-01-05T00:00:00Z")}),
              "2026-01-05T00:00:00.000Z");
}

// --- Refusals -----------------------------------------------------------------------------------

struct RefusalCase {
    Recurrence recurrence;
    std::string field;
    std::string detail;
};

TEST(FirePlan, WhatMakesNoSenseIsRefusedWithItsField) {
    const std::vector<RefusalCase> cases = {
        {{}, "cron_expression", "exactly one"},
        {{.cron = "* * * * *", .every = 1s}, "cron_expression", "exactly one"},
        {{.every = 1s, .every_after_end = 1s}, "cron_expression", "exactly one"},
        {{.every = -1s}, "cron_expression", "exactly one"},
        {{.cron = "*/0 * * * *"}, "cron_expression", ""},
        {{.cron = "0 0 30 2 *"}, "cron_expression", "never"},
        {{.every = 99ms}, "interval", "100ms"},
        {{.every = kDurationMax + 1ms}, "interval", "100 years"},
        {{.every_after_end = 1ms}, "interval_after_end", "100ms"},
        {{.timezone = "Mars/Olympus", .every = 1s}, "timezone", ""},
        {{.every = 1h, .excluded_dates = {"2026-02-30"}}, "excluded_dates", "2026-02-30"},
        {{.every = 1h, .excluded_dates = {"tomorrow"}}, "excluded_dates", "not a date"},
        {{.every = 1h, .excluded_dates = std::vector<Text>(1001, "2026-01-05")},
         "excluded_dates",
         "at most 1000"},
    };
    for (const RefusalCase& c : cases) {
        const auto plan = FirePlan::Make(c.recurrence, At(kMade));
        ASSERT_FALSE(plan) << c.field << " " << c.detail;
        EXPECT_EQ(plan.error().code, ErrorCode::kInvalid);
        EXPECT_EQ(plan.error().field, c.field) << plan.error().detail;
        EXPECT_THAT(plan.error().detail, HasSubstr(c.detail));
    }
}

TEST(FirePlan, WhatWouldNeverFireIsToldByItsFirstFire) {
    const auto refused = [](const Recurrence& recurrence, std::string_view made) {
        const auto plan = FirePlan::Make(recurrence, At(kMade));
        if (!plan) return "no plan: " + plan.error().detail;
        const auto fires = plan->CheckFires(At(made));
        return fires ? "" : fires.error().field;
    };
    const Time half_past = At("2026-01-01T00:30:00Z");
    EXPECT_EQ(refused({.every = 1h, .end_at = half_past}, kMade), "end_at");
    EXPECT_EQ(refused({.cron = "0 0 0 1 1 ? 2025"}, kMade), "cron_expression");
    EXPECT_EQ(refused({.every_after_end = 1h, .end_at = half_past}, kMade), "");
    EXPECT_EQ(refused({.every_after_end = 1h, .end_at = half_past}, "2026-01-01T00:30:00Z"),
              "end_at");
    // It fires at 00:20:10 next, whatever lies behind.
    EXPECT_EQ(refused({.every = 20min, .end_at = half_past}, "2026-01-01T00:15:00Z"), "");
}

// --- DueBetween ---------------------------------------------------------------------------------

struct BetweenCase {
    std::string situation;
    Recurrence recurrence;
    std::string after;
    std::string until;
    std::uint64_t count;
    bool more;
    std::string first;
    std::string last;
};

TEST(FirePlan, DueTimesBetweenTwoMomentsAreCountedAndTheLastIsFound) {
    const std::vector<BetweenCase> cases = {
        {"none",
         {.cron = "0 2 * * *"},
         "2026-01-01T02:00:00Z",
         "2026-01-02T01:59:59Z",
         0,
         false,
         "",
         ""},
        {"the end counts",
         {.cron = "0 2 * * *"},
         "2026-01-01T02:00:00Z",
         "2026-01-03T02:00:00Z",
         2,
         false,
         "2026-01-02T02:00:00Z",
         "2026-01-03T02:00:00Z"},
        {"exactly as many as are counted",
         {.cron = "0 2 * * *"},
         "2026-01-01T00:00:00Z",
         "2026-01-10T03:00:00Z",
         10,
         false,
         "2026-01-01T02:00:00Z",
         "2026-01-10T02:00:00Z"},
        {"one more",
         {.cron = "0 2 * * *"},
         "2026-01-01T00:00:00Z",
         "2026-01-11T03:00:00Z",
         11,
         false,
         "2026-01-01T02:00:00Z",
         "2026-01-11T02:00:00Z"},
        {"a year of seconds",
         {.cron = "* * * * * *"},
         "2026-01-01T00:00:00Z",
         "2027-01-01T00:00:00.500Z",
         31'536'000,
         false,
         "2026-01-01T00:00:01Z",
         "2027-01-01T00:00:00Z"},
        {"seconds of one hour a day",
         {.cron = "* * 3 * * *"},
         "2026-01-01T00:00:00Z",
         "2026-03-01T02:00:00Z",
         212'400,
         false,
         "2026-01-01T03:00:00Z",
         "2026-02-28T03:59:59Z"},
        {"decades of one day a year",
         {.cron = "0 0 29 2 *"},
         "2026-01-01T00:00:00Z",
         "2099-01-01T00:00:00Z",
         18,
         false,
         "2028-02-29T00:00:00Z",
         "2096-02-29T00:00:00Z"},
        {"a rate",
         {.every = 100ms},
         "2026-01-01T00:00:10Z",
         "2026-01-04T00:00:10.050Z",
         2'592'000,
         false,
         "2026-01-01T00:00:10.100Z",
         "2026-01-04T00:00:10Z"},
        {"a task that ended meanwhile",
         {.every = 1min, .end_at = At("2026-01-01T12:00:00Z")},
         "2026-01-01T00:00:10Z",
         "2026-01-04T00:00:00Z",
         719,
         false,
         "2026-01-01T00:01:10Z",
         "2026-01-01T11:59:10Z"},
        {"a cron with a holiday that is named twice",
         {.cron = "*/5 * * * *", .excluded_dates = {"2026-01-02", "2026-01-02"}},
         "2026-01-01T00:00:00Z",
         "2026-01-03T00:00:00Z",
         288,
         false,
         "2026-01-01T00:05:00Z",
         "2026-01-03T00:00:00Z"},
        {"a rate with a holiday has to be gone through",
         {.every = 1min, .excluded_dates = {"2026-01-02"}},
         "2026-01-01T00:00:10Z",
         "2026-01-04T00:00:00Z",
         10,
         true,
         "2026-01-01T00:01:10Z",
         "2026-01-03T23:59:10Z"},
    };
    for (const BetweenCase& c : cases) {
        const auto plan = FirePlan::Make(c.recurrence, At(kMade));
        ASSERT_TRUE(plan) << c.situation << ": " << plan.error().detail;
        const auto due = DueBetween(*plan, At(c.after), At(c.until), 10);
        ASSERT_EQ(due.has_value(), c.count > 0) << c.situation;
        if (!due) continue;
        EXPECT_EQ(due->count, c.count) << c.situation;
        EXPECT_EQ(due->more, c.more) << c.situation;
        EXPECT_EQ(FormatTime(due->first), FormatTime(At(c.first))) << c.situation;
        EXPECT_EQ(FormatTime(due->last), FormatTime(At(c.last))) << c.situation;
    }
}

}  // namespace
}  // namespace takt::internal
