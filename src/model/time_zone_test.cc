#include "model/time_zone.h"

#include <date/tz.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

namespace takt::internal {
namespace {

// The C library reads the same files with code of its own, the rule at their end included.
class CLibraryZone {
  public:
    explicit CLibraryZone(const std::string& name) {
        ::setenv("TZ", (":" + name).c_str(), 1);
        ::tzset();
    }
    ~CLibraryZone() {
        ::unsetenv("TZ");
        ::tzset();
    }
    static std::int64_t OffsetAt(std::int64_t second) {
        const std::time_t time = second;
        std::tm local{};
        ::localtime_r(&time, &local);
        return local.tm_gmtoff;
    }
};

std::int64_t OffsetAt(const TimeZone& zone, std::int64_t second) {
    return zone.LocalSeconds(Time(std::chrono::seconds(second))) - second;
}

// Every zone that a user may pick: one wrong offset is a task an hour late for half a year.
TEST(TimeZone, EveryZoneAgreesWithTheCLibraryFrom1970To2199) {
    constexpr std::int64_t kEnd = 7'258'118'400;  // 2200-01-01.
    std::size_t zones = 0;
    for (const date::time_zone& listed : date::get_tzdb().zones) {
        const Result<const TimeZone*> zone = TimeZone::Find(listed.name());
        if (!zone) continue;  // Counted below.
        ++zones;
        const CLibraryZone library(listed.name());
        for (const OffsetChange& change : (*zone)->changes().subspan(1)) {
            for (const std::int64_t second : {change.at - 1, change.at}) {
                ASSERT_EQ(OffsetAt(**zone, second), library.OffsetAt(second))
                    << listed.name() << " at " << second;
            }
        }
        // About every 25 days, less than Morocco's Ramadan: no change may be missing in between.
        for (std::int64_t second = 0; second < kEnd; second += 2'159'983) {
            ASSERT_EQ(OffsetAt(**zone, second), library.OffsetAt(second))
                << listed.name() << " at " << second;
        }
    }
    EXPECT_GT(zones, 500u);
    EXPECT_GE(zones + 3, date::get_tzdb().zones.size());  // localtime, posixrules, Factory.
}

// A container without tzdata still runs what asks for nothing but UTC.
TEST(TimeZone, UtcIsBuiltInAndTheDefault) {
    EXPECT_EQ((*TimeZone::Find(""))->name(), "UTC");
    EXPECT_EQ(*TimeZone::Find(""), *TimeZone::Find("UTC"));
    EXPECT_EQ((*TimeZone::Find("UTC"))->changes().size(), 1u);
}

// API threads check schedules at the same time: all get the one shared zone.
TEST(TimeZone, ThreadsShareOneZone) {
    std::vector<const TimeZone*> found(8);
    {
        std::vector<std::jthread> threads;
        threads.reserve(found.size());
        for (const TimeZone*& slot : found) {
            threads.emplace_back([&slot] { slot = *TimeZone::Find("Indian/Mahe"); });
        }
    }
    ASSERT_NE(found[0], nullptr);
    for (const TimeZone* zone : found) EXPECT_EQ(zone, found[0]);
}

struct RuleCase {
    std::string_view rule;
    int year;
    std::vector<OffsetChange> changes;
};

// The forms that occur in tzdata, with the odd ones: times before and days after the date named,
// "summer" time in winter (Ireland), days of the year.
TEST(PosixZone, ReadsEveryFormOfRule) {
    for (const RuleCase& row : {
             RuleCase{"CST-8", 2100, {}},
             {"<+0545>-5:45", 2100, {}},
             {"CET-1CEST,M3.5.0,M10.5.0/3", 2040, {{2216250000, 7200}, {2234998800, 3600}}},
             {"IST-1GMT0,M10.5.0,M3.5.0/1", 2040, {{2216250000, 3600}, {2234998800, 0}}},
             {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 2040, {{2216250000, -3600}, {2234998800, -7200}}},
             {"XXX0YYY,J60/0,J300/0", 2040, {{2214172800, 3600}, {2234905200, 0}}},
             {"XXX0YYY,59/0,300/0", 2040, {{2214086400, 3600}, {2234905200, 0}}},
         }) {
        const auto zone = PosixZone::Parse(row.rule);
        ASSERT_TRUE(zone) << row.rule;
        EXPECT_EQ(zone->ChangesOf(row.year), row.changes) << row.rule;
    }
}

// A damaged file must not become a wrong schedule.
TEST(PosixZone, RefusesWhatIsNoRule) {
    for (const std::string_view text :
         {"", "X", "CET", "CET-", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0",
          "CET-1CEST,M3.0.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,M3.5.0,M10.5.0/3x",
          "<CET-1", "CET-168", "CET-1CEST,J0,J5", "CET-1:60", "CET-1CEST,366,5"}) {
        EXPECT_FALSE(PosixZone::Parse(text)) << text;
    }
}

}  // namespace
}  // namespace takt::internal
