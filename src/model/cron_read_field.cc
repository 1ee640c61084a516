#include "model/cron_read_field.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace takt::internal {
namespace {

struct Spec {
    std::string_view name;
    int min;
    int max;
    int end;  // Of `*` and `a/n`. Differs from max for weekdays only, where 7 is Sunday again.
    std::span<const std::string_view> names;  // Of the values from min on.
};

constexpr std::array<std::string_view, 12> kMonthNames = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                                          "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> kWeekdayNames = {"SUN", "MON", "TUE", "WED",
                                                           "THU", "FRI", "SAT"};

constexpr std::array<Spec, 7> kSpecs = {{
    {"second", 0, 59, 59, {}},
    {"minute", 0, 59, 59, {}},
    {"hour", 0, 23, 23, {}},
    {"day of month", 1, 31, 31, {}},
    {"month", 1, 12, 12, kMonthNames},
    {"day of week", 0, 7, 6, kWeekdayNames},
    {"year", kCronYearMin, kCronYearMax, kCronYearMax, {}},
}};

constexpr char Upper(char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 0x20) : c;
}
constexpr bool IsDigit(char c) {
    return c >= '0' && c <= '9';
}
constexpr bool IsLetter(char c) {
    return Upper(c) >= 'A' && Upper(c) <= 'Z';
}

class FieldReader {
  public:
    FieldReader(CronFieldKind kind, const CronWord& word, CronFields& fields)
        : kind_(kind),
          spec_(kSpecs[static_cast<std::size_t>(kind)]),
          word_(word),
          fields_(fields) {}

    Result<void> Read() {
        const std::string_view text = word_.text;
        const bool any = text == "*" || text == "*/1" || text == "?";
        if (kind_ == CronFieldKind::kDay) fields_.any_day = any;
        if (kind_ == CronFieldKind::kWeekday) fields_.any_weekday = any;
        // With 5 fields the seconds were set to 0 before; with more they are this field's.
        if (kind_ == CronFieldKind::kSecond) fields_.seconds = 0;
        if (text == "?" && !may_be_day()) {
            return Fault(0, "? is for day of month and day of week only; write * here");
        }
        if (text == "?") {
            AddRange(spec_.min, spec_.end, 1);
            return {};
        }
        do {
            if (Result<void> item = ReadItem(); !item) return item;
        } while (Take(','));
        if (position_ == text.size()) return {};
        return Fault(position_, fmt::format("'{}' is not expected here", text[position_]));
    }

  private:
    struct Value {
        int number;
        bool is_name;
    };

    bool may_be_day() const {
        return kind_ == CronFieldKind::kDay || kind_ == CronFieldKind::kWeekday;
    }

    std::unexpected<Error> Fault(std::size_t position, std::string_view what) const {
        return CronFault(word_.column + position, spec_.name, what);
    }

    char Peek() const {
        return position_ < word_.text.size() ? Upper(word_.text[position_]) : '\0';
    }

    bool Take(char c) {
        if (Peek() != c) return false;
        ++position_;
        return true;
    }

    bool AtItemEnd() const { return Peek() == '\0' || Peek() == ','; }

    Result<int> ReadNumber(std::string_view what, std::pair<int, int> range) {
        const std::size_t begin = position_;
        int number = 0;
        for (; IsDigit(Peek()); ++position_) {
            // Stays above every range once it is, however many digits follow.
            number = std::min(number * 10 + (Peek() - '0'), 100'000);
        }
        if (position_ == begin) return Fault(begin, fmt::format("{} is missing", what));
        if (number < range.first || number > range.second) {
            // Nobody means a number of twenty digits; the column tells where it stands.
            const std::size_t shown = std::min<std::size_t>(position_ - begin, 20);
            return Fault(
                begin,
                fmt::format("{} {}{} is not in {}-{}", what, word_.text.substr(begin, shown),
                            begin + shown < position_ ? "…" : "", range.first, range.second));
        }
        return number;
    }

    Result<Value> ReadValue() {
        const std::size_t begin = position_;
        if (AtItemEnd()) return Fault(begin, "a value is missing");
        if (IsLetter(Peek()) && !spec_.names.empty()) {
            const std::string_view rest = word_.text.substr(begin);
            for (std::size_t i = 0; i < spec_.names.size(); ++i) {
                const std::string_view name = spec_.names[i];
                if (rest.size() < 3 || !std::ranges::equal(rest.substr(0, 3), name, {}, Upper)) {
                    continue;
                }
                position_ += 3;
                return Value{spec_.min + static_cast<int>(i), true};
            }
            return Fault(begin, fmt::format("'{}' is no name of a {}; write {} to {}",
                                            rest.substr(0, rest.find_first_of(",-/#")),
                                            kind_ == CronFieldKind::kMonth ? "month" : "day",
                                            spec_.names.front(), spec_.names.back()));
        }
        if (!IsDigit(Peek())) {
            return Fault(begin, fmt::format("'{}' is not expected here", word_.text[begin]));
        }
        const Result<int> number = ReadNumber("the value", {spec_.min, spec_.max});
        if (!number) return std::unexpected(number.error());
        return Value{*number, false};
    }

    Result<void> ReadItem() {
        const std::size_t begin = position_;
        if (Take('*')) return ReadStep(spec_.min, spec_.end, true);
        if (Peek() == '?') return Fault(begin, "? must stand alone");
        if (Peek() == 'L' && kind_ == CronFieldKind::kDay) return ReadLastDay();
        if (Peek() == 'L' && kind_ == CronFieldKind::kWeekday) {
            return Fault(begin, "L needs a weekday in front, such as 5L for the last Friday");
        }
        const Result<Value> first = ReadValue();
        if (!first) return std::unexpected(first.error());
        if (kind_ == CronFieldKind::kDay && Take('W')) {
            fields_.nearest_weekdays |= 1u << first->number;
            return {};
        }
        if (kind_ == CronFieldKind::kWeekday && (Peek() == 'L' || Peek() == '#')) {
            return ReadWeekdayOfMonth(first->number % 7);
        }
        if (!Take('-')) return ReadStep(first->number, spec_.end, false);

        const std::size_t second_begin = position_;
        const Result<Value> second = ReadValue();
        if (!second) return std::unexpected(second.error());
        int last = second->number;
        if (last < first->number) {
            // FRI-MON is clear; 5-1 is more often a slip than a wish.
            const bool wraps =
                kind_ == CronFieldKind::kWeekday && first->is_name && second->is_name;
            if (!wraps) {
                return Fault(second_begin,
                             fmt::format("the range {}-{} runs backwards", first->number, last));
            }
            last += 7;
        }
        return ReadStep(first->number, last, true);
    }

    // The step that may follow a value, a range or `*`. A lone value with a step runs to the end.
    Result<void> ReadStep(int first, int last, bool is_range) {
        if (!Take('/')) {
            AddRange(first, is_range ? last : first, 1);
            return {};
        }
        const Result<int> step = ReadNumber("the step", {1, spec_.end - spec_.min + 1});
        if (!step) return std::unexpected(step.error());
        // The greater: 7/2 begins behind the end of the week.
        AddRange(first, std::max(first, last), *step);
        return {};
    }

    // `L`, `L-3` or `LW`.
    Result<void> ReadLastDay() {
        ++position_;
        if (Take('W')) {
            fields_.nearest_weekdays |= 1;
            return {};
        }
        int before = 0;
        if (Take('-')) {
            const Result<int> number = ReadNumber("the number of days before the last", {1, 30});
            if (!number) return std::unexpected(number.error());
            before = *number;
        }
        fields_.days_before_last |= 1u << before;
        return {};
    }

    // `5L` or `5#2`, behind the 5.
    Result<void> ReadWeekdayOfMonth(int weekday) {
        if (Take('L')) {
            fields_.last_weekdays |= static_cast<std::uint8_t>(1u << weekday);
            return {};
        }
        ++position_;
        const Result<int> week = ReadNumber("the number after #", {1, 5});
        if (!week) return std::unexpected(week.error());
        fields_.nth_weekdays |= std::uint64_t{1} << (7 * (*week - 1) + weekday);
        return {};
    }

    void AddRange(int first, int last, int step) {
        for (int value = first; value <= last; value += step) Add(value);
    }

    void Add(int value) {
        const auto bit = std::uint64_t{1} << (value % 64);
        switch (kind_) {
            case CronFieldKind::kSecond:
                fields_.seconds |= bit;
                break;
            case CronFieldKind::kMinute:
                fields_.minutes |= bit;
                break;
            case CronFieldKind::kHour:
                fields_.hours |= static_cast<std::uint32_t>(bit);
                break;
            case CronFieldKind::kDay:
                fields_.days |= static_cast<std::uint32_t>(bit);
                break;
            case CronFieldKind::kMonth:
                fields_.months |= static_cast<std::uint16_t>(bit);
                break;
            case CronFieldKind::kWeekday:
                fields_.weekdays |= static_cast<std::uint8_t>(1u << (value % 7));
                break;
            case CronFieldKind::kYear: {
                const auto year = static_cast<unsigned>(value - kCronYearMin);
                fields_.years[year / 64] |= std::uint64_t{1} << (year % 64);
                break;
            }
        }
    }

    const CronFieldKind kind_;
    const Spec& spec_;
    const CronWord& word_;
    CronFields& fields_;
    std::size_t position_ = 0;  // In word_.text.
};

}  // namespace

std::unexpected<Error> CronFault(std::size_t column, std::string_view field,
                                 std::string_view what) {
    return Fail(ErrorCode::kInvalid,
                field.empty() ? fmt::format("column {}: {}", column, what)
                              : fmt::format("column {} ({}): {}", column, field, what),
                "cron_expression");
}

Result<void> ReadCronField(CronFieldKind kind, const CronWord& word, CronFields& fields) {
    return FieldReader(kind, word, fields).Read();
}

}  // namespace takt::internal
