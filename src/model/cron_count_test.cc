// Fires that are counted without being gone through, against going through them.
#include <random>

#include "model/cron_testing.h"
#include "model/fire_plan.h"

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

std::uint64_t CountOneByOne(const FirePlan& plan, Time after, Time until) {
    std::uint64_t count = 0;
    for (auto next = plan.Next(after); next && *next <= until; next = plan.Next(*next)) ++count;
    return count;
}

// Around a change of offset, from every second to every leap day, with and without holidays.
TEST(CronCount, IsWhatGoingThroughThemGives) {
    const std::vector<Text> expressions = {
        "* * * * *",        "*/7 1-3 * * *", "30 2 * * *",   "0 0 29 2 *",      "15 2,3 * * SUN",
        "0 12 L * *",       "0 9 1W * *",    "0 8 * * 5#2",  "*/20 30 2 * * *", "59 59 23 * * *",
        "0 0 0 1 1 ? 2027", "@every 7m",     "0 2 * 3,10 *", "@hourly",         "10 1 */2 * MON",
    };
    const std::vector<Text> zones = {"UTC", "Europe/Berlin", "America/New_York",
                                     "Australia/Lord_Howe", "Asia/Shanghai"};
    std::mt19937_64 random(1);
    for (const Text& expression : expressions) {
        for (const Text& zone : zones) {
            for (const Dst dst : {Dst::kOnce, Dst::kSkip, Dst::kTwice}) {
                Recurrence recurrence{.cron = expression, .timezone = zone, .dst = dst};
                const bool holidays = expression.view()[0] != '@' && random() % 2 == 0;
                if (holidays)
                    recurrence.excluded_dates = {"2026-03-29", "2026-10-25", "2026-11-01"};
                const auto plan = FirePlan::Make(recurrence, Time{});
                ASSERT_TRUE(plan) << plan.error().detail;
                for (const std::string_view at :
                     {"2026-03-29T00:59:59Z", "2026-10-25T00:30:00Z", "2026-03-08T06:59:00Z",
                      "2026-11-01T05:00:00.500Z", "2026-04-04T15:00:00Z", "2028-02-28T00:00:00Z"}) {
                    const Time after = At(at) - Duration(random() % 7'200'000);
                    const Time until = after + Duration(random() % (3 * 86'400'000));
                    const auto count = plan->Count(after, until);
                    ASSERT_TRUE(count);
                    EXPECT_EQ(*count, CountOneByOne(*plan, after, until))
                        << expression.view() << " " << zone.view() << " " << int(dst) << " after "
                        << FormatTime(after) << " until " << FormatTime(until);
                }
            }
        }
    }
}

// Years, where each part of a month and of a year counts.
TEST(CronCount, GoesOverYears) {
    const Cron daily = Parsed("30 2 * * *", {.timezone = "Europe/Berlin", .dst = Dst::kSkip});
    EXPECT_EQ(daily.CountBetween(At("2026-01-01T00:00:00Z"), At("2036-01-01T00:00:00Z")),
              3'652u - 10);
    EXPECT_EQ(daily.CountBetween(At("2198-12-31T00:00:00Z"), At("2260-01-01T00:00:00Z")), 365u);
    EXPECT_EQ(daily.CountBetween(At("2026-01-02T00:00:00Z"), At("2026-01-01T00:00:00Z")), 0u);
    const Cron leap = Parsed("0 0 29 2 *");
    EXPECT_EQ(leap.CountBetween(At("2026-01-01T00:00:00Z"), At("2199-12-31T00:00:00Z")), 42u);
}

}  // namespace
}  // namespace takt::internal
