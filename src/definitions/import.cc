#include "definitions/import.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>

#include "base/id.h"

namespace takt::internal {
namespace {

constexpr std::size_t kIdWishMax = 56;  // Leaves room for a number.

std::vector<std::string_view> SplitAt(std::string_view text, char sign) {
    std::vector<std::string_view> parts;
    while (true) {
        const std::size_t end = std::min(text.find(sign), text.size());
        parts.push_back(text.substr(0, end));
        if (end == text.size()) return parts;
        text.remove_prefix(end + 1);
    }
}

// The number that a text begins with; -1 if it begins with none.
int NumberAt(std::string_view text) {
    int number = -1;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

struct QuartzField {
    int min;
    int max;
};
// Seconds, minutes, hours, days and months.
constexpr std::array<QuartzField, 5> kQuartzFields = {
    {{0, 59}, {0, 59}, {0, 23}, {1, 31}, {1, 12}}};
constexpr std::array<std::string_view, 7> kDays = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};

// 22-2 is 22-23,0-2.
std::string Forwards(std::string_view item, QuartzField field) {
    const std::size_t dash = item.find('-');
    const std::size_t slash = std::min(item.find('/'), item.size());
    if (dash == std::string_view::npos || dash == 0 || dash > slash) return std::string(item);
    const int from = NumberAt(item);
    const int to = NumberAt(item.substr(dash + 1));
    if (from < 0 || to < 0 || from <= to) return std::string(item);
    const std::string step(item.substr(slash));
    return std::to_string(from) + "-" + std::to_string(field.max) + step + "," +
           std::to_string(field.min) + "-" + std::to_string(to) + step;
}

// 1 is Sunday there and 0 here.
std::string Weekday(std::string_view item) {
    if (item == "L") return "6";
    if (item.empty() || !std::isdigit(static_cast<unsigned char>(item.front()))) {
        return std::string(item);
    }
    const std::size_t end = std::min(item.find_first_not_of("0123456789"), item.size());
    const int from = NumberAt(item) - 1;
    if (end < item.size() && item[end] == '-') {
        const std::string_view rest = item.substr(end + 1);
        const int to = NumberAt(rest) - 1;
        if (from < 0 || to < 0 || from > 6 || to > 6) return std::string(item);
        const std::string_view behind = rest.substr(std::min(rest.find('/'), rest.size()));
        // Only names may go over the end of the week.
        const std::string range = std::string(kDays[static_cast<std::size_t>(from)]) + "-" +
                                  std::string(kDays[static_cast<std::size_t>(to)]);
        return range + std::string(behind);
    }
    return std::to_string(from) + std::string(item.substr(end));
}

}  // namespace

void Imported::Note(int line, ImportNote::Grade grade, std::string text) {
    const auto place = [](int at) { return at > 0 ? at : std::numeric_limits<int>::max(); };
    const auto behind = std::ranges::upper_bound(
        notes, place(line), {}, [&](const ImportNote& note) { return place(note.line); });
    notes.insert(behind, {line, grade, std::move(text)});
}

bool Imported::complete() const {
    return std::ranges::all_of(
        notes, [](const ImportNote& note) { return note.grade == ImportNote::Grade::kTaken; });
}

std::string ImportIds::Make(std::string_view wish) {
    std::string id;
    for (const char c : wish.substr(0, kIdWishMax)) {
        const bool fits = std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' ||
                          c == '~' || c == '-';
        if (fits || (!id.empty() && id.back() != '-')) id += fits ? c : '-';
    }
    while (!id.empty() && !std::isalnum(static_cast<unsigned char>(id.front()))) id.erase(0, 1);
    while (!id.empty() && id.back() == '-') id.pop_back();
    if (!IsValidId(id)) id = "task";
    std::string unique = id;
    for (int number = 2; !taken_.insert(unique).second; ++number) {
        unique = id + "-" + std::to_string(number);
    }
    return unique;
}

std::string CronOfQuartz(std::string_view expression) {
    std::vector<std::string_view> fields = SplitAt(expression, ' ');
    std::erase_if(fields, [](std::string_view field) { return field.empty(); });
    if (fields.size() != 6 && fields.size() != 7) return std::string(expression);
    std::string text;
    for (std::size_t at = 0; at < fields.size(); ++at) {
        if (at > 0) text += ' ';
        bool first = true;
        for (const std::string_view item : SplitAt(fields[at], ',')) {
            if (!first) text += ',';
            first = false;
            if (at == 5) {
                text += Weekday(item);
            } else {
                text += at < 5 ? Forwards(item, kQuartzFields[at]) : std::string(item);
            }
        }
    }
    return text;
}

}  // namespace takt::internal
