#include "cli/room_forecast.h"

#include <gtest/gtest.h>

namespace takt::internal::cli {
namespace {

constexpr Duration Days(int days) {
    return std::chrono::days(days);
}
constexpr double kMiB = 1 << 20;

TEST(RoomForecastTest, AYoungHistoryGrowsUntilItsRetention) {
    // Two days old, kept for ten: 1000 a day, a MiB each with all that is around them.
    const auto forecast = ForecastRoom(
        {{.retention = Days(10), .age = Days(2), .kept = 2'000, .daily = 1'000}}, 2'000 * kMiB, 0);
    ASSERT_TRUE(forecast);
    EXPECT_DOUBLE_EQ(forecast->bytes_daily, 1'000 * kMiB);
    EXPECT_DOUBLE_EQ(forecast->bytes_later, 10'000 * kMiB);
    EXPECT_EQ(forecast->until_later, Days(8));
    EXPECT_FALSE(forecast->until_full);
}

TEST(RoomForecastTest, AnOldHistoryGrowsNoMore) {
    const auto forecast =
        ForecastRoom({{.retention = Days(7), .age = Days(30), .kept = 7'000, .daily = 1'000}},
                     7 * kMiB, 8 * kMiB);
    ASSERT_TRUE(forecast);
    EXPECT_EQ(forecast->bytes_daily, 0);
    EXPECT_DOUBLE_EQ(forecast->bytes_later, 7 * kMiB);
    EXPECT_FALSE(forecast->until_full);
}

TEST(RoomForecastTest, RoomThatEndsBeforeTheRetentionIsToldWithItsDay) {
    const auto forecast =
        ForecastRoom({{.retention = Days(90), .age = Days(2), .kept = 2'000, .daily = 1'000},
                      {.retention = Days(1), .age = Days(2), .kept = 2'000, .daily = 2'000}},
                     4'000 * kMiB, 9'000 * kMiB);
    ASSERT_TRUE(forecast);
    EXPECT_EQ(forecast->daily, 3'000);
    EXPECT_DOUBLE_EQ(forecast->bytes_daily, 1'000 * kMiB) << "the other namespace is as it stays";
    EXPECT_EQ(forecast->until_full, Days(5));
}

// Ten minutes after the installation 3000 executions are no 3000 a day.
TEST(RoomForecastTest, OfAShortTimeNothingIsSaid) {
    const std::vector<KeptHistory> young = {{.retention = Days(7), .kept = 3'000}};
    EXPECT_FALSE(ForecastRoom(young, kMiB, 0));
    // Beside one that is old enough it does not count.
    const auto forecast = ForecastRoom(
        {young[0], {.retention = Days(7), .age = Days(9), .kept = 700, .daily = 100}}, kMiB, 0);
    ASSERT_TRUE(forecast);
    EXPECT_EQ(forecast->daily, 100);
}

TEST(RoomForecastTest, ADayIsToldFromHoursOnceOneHasPassed) {
    const Time noon{std::chrono::hours(12)};
    const auto at = [&](double hours) {
        return noon + Duration(static_cast<Duration::rep>(hours * 3'600'000));
    };
    const std::vector<EndedHour> hours = {{at(0), 500}, {at(1), 100}, {at(2), 50}};
    EXPECT_FALSE(DailyOfHours(hours, at(1.9)));
    EXPECT_DOUBLE_EQ(DailyOfHours(hours, at(2.5)).value(), 150 * 24 / 1.5);
    EXPECT_FALSE(DailyOfHours({}, noon));
    EXPECT_FALSE(DailyOfHours({{at(0), 0}}, at(9)));
}

TEST(RoomForecastTest, OfNextToNothingNothingIsSaid) {
    EXPECT_FALSE(ForecastRoom({{.retention = Days(7), .kept = 10, .daily = 10.0}}, kMiB, 0));
    EXPECT_FALSE(ForecastRoom({}, 0, 0));
}

TEST(RoomForecastTest, BytesAreSaidAsPeopleSayThem) {
    EXPECT_EQ(BytesText(0), "0 bytes");
    EXPECT_EQ(BytesText(1'536), "1.5 KiB");
    EXPECT_EQ(BytesText(350 * kMiB), "350.0 MiB");
    EXPECT_EQ(BytesText(5e15), "4547.5 TiB");
}

}  // namespace
}  // namespace takt::internal::cli
