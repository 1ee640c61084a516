#include "model/cron_testing.h"

namespace takt::internal {
namespace {

struct Described {
    std::string_view expression;
    std::string_view english;
    std::string_view chinese;
};

// The form shows what a schedule means before it is saved; a wrong sentence is worse than none.
TEST(CronDescribe, SaysWhenItFires) {
    for (const Described& row : {
             Described{"0 2 * * *", "at 02:00:00 every day (Asia/Shanghai)",
                       "每天 02:00:00(Asia/Shanghai)"},
             {"* * * * * *", "every second (Asia/Shanghai)", "每秒(Asia/Shanghai)"},
             {"* * * * *", "every minute (Asia/Shanghai)", "每分钟(Asia/Shanghai)"},
             {"*/15 * * * *", "every 15 minutes (Asia/Shanghai)", "每 15 分钟(Asia/Shanghai)"},
             {"*/10 * * * * *", "every 10 seconds (Asia/Shanghai)", "每 10 秒(Asia/Shanghai)"},
             {"*/7 * * * *",
              "at second 0 of minutes 0-56 in steps of 7 of every hour every day (Asia/Shanghai)",
              "每天 每小时的第 0-56(每隔 7) 分的第 0 秒(Asia/Shanghai)"},
             {"5 * * * *", "at second 0 of minute 5 of every hour every day (Asia/Shanghai)",
              "每天 每小时的第 5 分的第 0 秒(Asia/Shanghai)"},
             {"30 9,18 * * MON-FRI", "at 09:30:00 and 18:30:00 on Monday-Friday (Asia/Shanghai)",
              "星期一-星期五 09:30:00、18:30:00(Asia/Shanghai)"},
             {"*/5 9-17 * * 6,7",
              "at second 0 of minutes 0-55 in steps of 5 of hours 9-17 on Sunday and Saturday "
              "(Asia/Shanghai)",
              "星期日、星期六 第 9-17 时的第 0-55(每隔 5) 分的第 0 秒(Asia/Shanghai)"},
             {"0 0 1,15 * 1",
              "at 00:00:00 on days 1 and 15 of the month or on Monday (Asia/Shanghai)",
              "1、15 日或星期一 00:00:00(Asia/Shanghai)"},
             {"0 0 L,L-3 2 *",
              "at 00:00:00 on the last day of the month or on the day 3 before the last day of the "
              "month in February (Asia/Shanghai)",
              "2 月 当月最后一天或当月最后一天之前 3 天 00:00:00(Asia/Shanghai)"},
             {"0 0 15W,LW * *",
              "at 00:00:00 on the last Monday-Friday day of the month or on the Monday-Friday day "
              "nearest to day 15 of the month (Asia/Shanghai)",
              "当月最后一个工作日(星期一至星期五)或离 15 日最近的工作日(星期一至星期五) "
              "00:00:00(Asia/Shanghai)"},
             {"0 0 * 1-3,6 5L,2#1",
              "at 00:00:00 on the first Tuesday of the month or on the last Friday of the month in "
              "January-March and June (Asia/Shanghai)",
              "1-3、6 月 当月第 1 个星期二或当月最后一个星期五 00:00:00(Asia/Shanghai)"},
             {"0 0 0 1 1 ? 2030",
              "at 00:00:00 on day 1 of the month in January, years 2030 (Asia/Shanghai)",
              "2030 年 1 月 1 日 00:00:00(Asia/Shanghai)"},
             {"* * * 6 *", "every minute in June (Asia/Shanghai)", "6 月 每分钟(Asia/Shanghai)"},
             {"@every 90s", "every 1m30s, counted from 1970-01-01 00:00 UTC",
              "每 1m30s 一次,从 1970-01-01 00:00 UTC 起算"},
         }) {
        const Cron cron = Parsed(row.expression, {.timezone = "Asia/Shanghai"});
        EXPECT_EQ(cron.Describe(), row.english) << row.expression;
        EXPECT_EQ(cron.DescribeZh(), row.chinese) << row.expression;
    }
}

// A range that leaves nothing out still narrows nothing: 1-31 with a weekday is every day.
TEST(CronDescribe, ListsBothKindsOfDay) {
    EXPECT_EQ(Parsed("0 0 1-31 * 1").Describe(),
              "at 00:00:00 on days 1-31 of the month or on Monday (UTC)");
    EXPECT_EQ(Parsed("0 0 * * 0-6").Describe(), "at 00:00:00 on Sunday-Saturday (UTC)");
}

}  // namespace
}  // namespace takt::internal
