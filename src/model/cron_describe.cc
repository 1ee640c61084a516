// Cron in words, English and Chinese. Made from the sets, not from the text, so that it says what
// the scheduler will do and not what the author may have meant.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "model/cron.h"

namespace takt::internal {
namespace {

using Words = std::vector<std::string>;
using ValueName = std::function<std::string(int)>;

// Up to this many times of day are listed one by one.
constexpr int kTimesListedMax = 4;
// A shorter sequence reads better as a list: "0, 20 and 40".
constexpr std::size_t kSequenceMin = 4;

constexpr std::uint64_t kSixty = (std::uint64_t{1} << 60) - 1;

constexpr std::array<std::string_view, 7> kWeekdaysEn = {
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 7> kWeekdaysZh = {"星期日", "星期一", "星期二", "星期三",
                                                         "星期四", "星期五", "星期六"};
constexpr std::array<std::string_view, 12> kMonthsEn = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<std::string_view, 5> kNthEn = {"first", "second", "third", "fourth", "fifth"};

std::string Number(int value) {
    return std::to_string(value);
}

std::vector<int> Members(std::uint64_t set) {
    std::vector<int> members;
    for (; set != 0; set &= set - 1) members.push_back(std::countr_zero(set));
    return members;
}

std::vector<int> Years(const CronFields& fields) {
    std::vector<int> years;
    for (int year = kCronYearMin; year <= kCronYearMax; ++year) {
        if (fields.HasYear(year)) years.push_back(year);
    }
    return years;
}

bool AllYears(const CronFields& fields) {
    return Years(fields).size() == kCronYearMax - kCronYearMin + 1;
}

// The distance between neighbours if it is the same for all; else 0.
int StepOf(std::span<const int> values) {
    if (values.size() < 2) return 0;
    const int step = values[1] - values[0];
    for (std::size_t i = 2; i < values.size(); ++i) {
        if (values[i] - values[i - 1] != step) return 0;
    }
    return step;
}

// n if the set is every nth value of 0 to span - 1 without a shorter last step; else 0.
int EvenStep(std::uint64_t set, int span) {
    const std::vector<int> values = Members(set);
    const int step = StepOf(values);
    const bool even = step > 1 && values.front() == 0 && values.back() + step == span;
    return even ? step : 0;
}

Words Ranges(std::span<const int> values, const ValueName& name) {
    Words words;
    for (std::size_t i = 0; i < values.size();) {
        std::size_t end = i + 1;
        while (end < values.size() && values[end] == values[end - 1] + 1) ++end;
        if (end - i >= 3) {
            words.push_back(name(values[i]) + "-" + name(values[end - 1]));
        } else {
            for (std::size_t j = i; j < end; ++j) words.push_back(name(values[j]));
        }
        i = end;
    }
    return words;
}

std::string Join(const Words& words, std::string_view between, std::string_view last) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i > 0) text += i + 1 == words.size() ? last : between;
        text += words[i];
    }
    return text;
}

std::string ListEn(std::span<const int> values, const ValueName& name = Number) {
    const int step = StepOf(values);
    if (step > 1 && values.size() >= kSequenceMin) {
        return fmt::format("{}-{} in steps of {}", name(values.front()), name(values.back()), step);
    }
    return Join(Ranges(values, name), ", ", " and ");
}

std::string ListZh(std::span<const int> values, const ValueName& name = Number) {
    const int step = StepOf(values);
    if (step > 1 && values.size() >= kSequenceMin) {
        return fmt::format("{}-{}(每隔 {})", name(values.front()), name(values.back()), step);
    }
    return Join(Ranges(values, name), "、", "、");
}

// All times of day if they are few; else empty.
Words TimesListed(const CronFields& fields) {
    const int count =
        std::popcount(fields.hours) * std::popcount(fields.minutes) * std::popcount(fields.seconds);
    Words times;
    if (count > kTimesListedMax) return times;
    for (const int hour : Members(fields.hours)) {
        for (const int minute : Members(fields.minutes)) {
            for (const int second : Members(fields.seconds)) {
                times.push_back(fmt::format("{:02}:{:02}:{:02}", hour, minute, second));
            }
        }
    }
    return times;
}

// The step at which an expression for every hour repeats, if it is simply a number of seconds or
// minutes.
struct Pace {
    int seconds = 0;
    int minutes = 0;
};

Pace PaceOf(const CronFields& fields) {
    if (!fields.every_hour()) return {};
    if (fields.minutes == kSixty && fields.seconds == kSixty) return {.seconds = 1};
    if (fields.minutes == kSixty && fields.seconds == 1) return {.minutes = 1};
    if (fields.minutes == kSixty) return {.seconds = EvenStep(fields.seconds, 60)};
    if (fields.seconds == 1) return {.minutes = EvenStep(fields.minutes, 60)};
    return {};
}

std::string UnitEn(std::string_view unit, std::uint64_t set, std::uint64_t all) {
    if (set == all) return fmt::format("every {}", unit);
    return fmt::format("{}{} {}", unit, std::has_single_bit(set) ? "" : "s", ListEn(Members(set)));
}

std::string TimeEn(const CronFields& fields) {
    if (const Words times = TimesListed(fields); !times.empty()) {
        return "at " + Join(times, ", ", " and ");
    }
    const Pace pace = PaceOf(fields);
    if (pace.seconds == 1) return "every second";
    if (pace.minutes == 1) return "every minute";
    if (pace.seconds > 1) return fmt::format("every {} seconds", pace.seconds);
    if (pace.minutes > 1) return fmt::format("every {} minutes", pace.minutes);
    return fmt::format("at {} of {} of {}", UnitEn("second", fields.seconds, kSixty),
                       UnitEn("minute", fields.minutes, kSixty),
                       UnitEn("hour", fields.hours, CronFields::kAllHours));
}

std::string DaysEn(const CronFields& fields) {
    // "every minute" needs no "every day"; "at 02:00:00" does.
    const Pace pace = PaceOf(fields);
    if (fields.any_day && fields.any_weekday) {
        return pace.seconds + pace.minutes > 0 ? "" : " every day";
    }
    Words choices;
    if (!fields.any_day) {
        if (fields.days != 0) {
            choices.push_back(fmt::format("day{} {} of the month",
                                          std::has_single_bit(fields.days) ? "" : "s",
                                          ListEn(Members(fields.days))));
        }
        for (const int before : Members(fields.days_before_last)) {
            choices.push_back(
                before == 0 ? "the last day of the month"
                            : fmt::format("the day {} before the last day of the month", before));
        }
        for (const int day : Members(fields.nearest_weekdays)) {
            choices.push_back(
                day == 0
                    ? "the last Monday-Friday day of the month"
                    : fmt::format("the Monday-Friday day nearest to day {} of the month", day));
        }
    }
    if (!fields.any_weekday) {
        const auto name = [](int day) { return std::string(kWeekdaysEn[std::size_t(day)]); };
        if (fields.weekdays != 0) {
            choices.push_back(Join(Ranges(Members(fields.weekdays), name), ", ", " and "));
        }
        for (const int bit : Members(fields.nth_weekdays)) {
            choices.push_back(
                fmt::format("the {} {} of the month", kNthEn[std::size_t(bit) / 7], name(bit % 7)));
        }
        for (const int day : Members(fields.last_weekdays)) {
            choices.push_back(fmt::format("the last {} of the month", name(day)));
        }
    }
    return " on " + Join(choices, ", or on ", " or on ");
}

std::string UnitZh(std::string_view unit, std::uint64_t set, std::uint64_t all) {
    if (set == all)
        return fmt::format("每{}", unit == "时" ? "小时" : unit == "分" ? "分钟" : "秒");
    return fmt::format("第 {} {}", ListZh(Members(set)), unit);
}

std::string TimeZh(const CronFields& fields) {
    if (const Words times = TimesListed(fields); !times.empty()) return Join(times, "、", "、");
    const Pace pace = PaceOf(fields);
    if (pace.seconds == 1) return "每秒";
    if (pace.minutes == 1) return "每分钟";
    if (pace.seconds > 1) return fmt::format("每 {} 秒", pace.seconds);
    if (pace.minutes > 1) return fmt::format("每 {} 分钟", pace.minutes);
    return fmt::format("{}的{}的{}", UnitZh("时", fields.hours, CronFields::kAllHours),
                       UnitZh("分", fields.minutes, kSixty), UnitZh("秒", fields.seconds, kSixty));
}

std::string DaysZh(const CronFields& fields) {
    if (fields.any_day && fields.any_weekday) return "每天";
    Words choices;
    if (!fields.any_day) {
        if (fields.days != 0) choices.push_back(fmt::format("{} 日", ListZh(Members(fields.days))));
        for (const int before : Members(fields.days_before_last)) {
            choices.push_back(before == 0 ? "当月最后一天"
                                          : fmt::format("当月最后一天之前 {} 天", before));
        }
        for (const int day : Members(fields.nearest_weekdays)) {
            choices.push_back(day == 0 ? "当月最后一个工作日(星期一至星期五)"
                                       : fmt::format("离 {} 日最近的工作日(星期一至星期五)", day));
        }
    }
    if (!fields.any_weekday) {
        const auto name = [](int day) { return std::string(kWeekdaysZh[std::size_t(day)]); };
        if (fields.weekdays != 0) {
            choices.push_back(Join(Ranges(Members(fields.weekdays), name), "、", "、"));
        }
        for (const int bit : Members(fields.nth_weekdays)) {
            choices.push_back(fmt::format("当月第 {} 个{}", bit / 7 + 1, name(bit % 7)));
        }
        for (const int day : Members(fields.last_weekdays)) {
            choices.push_back(fmt::format("当月最后一个{}", name(day)));
        }
    }
    return Join(choices, "或", "或");
}

constexpr std::uint16_t kAllMonths = 0x1ffe;

}  // namespace

std::string Cron::Describe() const {
    if (every_ > Duration(0)) {
        return fmt::format("every {}, counted from 1970-01-01 00:00 UTC", FormatDuration(every_));
    }
    std::string text = TimeEn(fields_) + DaysEn(fields_);
    if (fields_.months != kAllMonths) {
        const auto name = [](int month) { return std::string(kMonthsEn[std::size_t(month - 1)]); };
        text += " in " + Join(Ranges(Members(fields_.months), name), ", ", " and ");
    }
    if (!AllYears(fields_)) text += ", years " + ListEn(Years(fields_));
    return fmt::format("{} ({})", text, zone_->name());
}

std::string Cron::DescribeZh() const {
    if (every_ > Duration(0)) {
        return fmt::format("每 {} 一次,从 1970-01-01 00:00 UTC 起算", FormatDuration(every_));
    }
    std::string text;
    if (!AllYears(fields_)) text += ListZh(Years(fields_)) + " 年 ";
    if (fields_.months != kAllMonths) text += ListZh(Members(fields_.months)) + " 月 ";
    const bool every_day = fields_.any_day && fields_.any_weekday;
    const Pace pace = PaceOf(fields_);
    // "每分钟" alone says enough; with months or years in front it reads on from them.
    if (!every_day || pace.seconds + pace.minutes == 0) text += DaysZh(fields_) + " ";
    return fmt::format("{}{}({})", text, TimeZh(fields_), zone_->name());
}

}  // namespace takt::internal
