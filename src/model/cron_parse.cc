// Reads cron expressions: cuts the line into fields, lets cron_read_field.h read each, refuses what
// could never fire.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "model/cron.h"
#include "model/cron_read_field.h"

namespace takt::internal {
namespace {

struct Nickname {
    std::string_view name;
    std::string_view fields;
};

constexpr std::array kNicknames = {
    Nickname{"@yearly", "0 0 1 1 *"},  Nickname{"@annually", "0 0 1 1 *"},
    Nickname{"@monthly", "0 0 1 * *"}, Nickname{"@weekly", "0 0 * * 0"},
    Nickname{"@daily", "0 0 * * *"},   Nickname{"@midnight", "0 0 * * *"},
    Nickname{"@hourly", "0 * * * *"},
};

constexpr Duration kCronEveryMin = std::chrono::seconds(1);

constexpr bool IsBlank(char c) {
    return c == ' ' || c == '\t';
}

// The next word of `text` at or after `position`, which moves behind it; empty at the end.
CronWord NextWord(std::string_view text, std::size_t& position) {
    while (position < text.size() && IsBlank(text[position])) ++position;
    const std::size_t begin = position;
    while (position < text.size() && !IsBlank(text[position])) ++position;
    return {text.substr(begin, position - begin), begin + 1};
}

// Nothing unprintable gets further than this, so later messages may quote what they refuse.
Result<void> CheckCharacters(std::string_view text) {
    if (text.size() > Cron::kBytesMax) {
        return CronFault(Cron::kBytesMax + 1, {},
                         fmt::format("the expression has {} characters; at most {} are allowed",
                                     text.size(), Cron::kBytesMax));
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if ((byte < ' ' && byte != '\t') || byte >= 0x7f) {
            return CronFault(
                i + 1, {},
                fmt::format("the byte 0x{:02x} has no place in a cron expression; only "
                            "printable ASCII has",
                            byte));
        }
    }
    return {};
}

Result<Duration> ParseEvery(std::string_view text, std::size_t position) {
    const CronWord word = NextWord(text, position);
    const CronWord extra = NextWord(text, position);
    if (!extra.text.empty()) {
        return CronFault(extra.column, "@every", "only one duration may follow, such as 1h30m");
    }
    const Result<Duration> every = ParseDuration(word.text);
    if (!every) return CronFault(word.column, "@every", every.error().detail);
    if (*every < kCronEveryMin) {
        return CronFault(word.column, "@every", "the interval must be at least 1s");
    }
    return *every;
}

Result<CronFields> ParseFields(std::string_view text, std::size_t position) {
    // One more than the seven that there are, to see that there are too many.
    std::array<CronWord, 8> words;
    std::size_t count = 0;
    while (count < words.size()) {
        const CronWord word = NextWord(text, position);
        if (word.text.empty()) break;
        words[count++] = word;
    }
    if (count < 5 || count > 7) {
        const std::size_t column = count > 7 ? words[7].column : text.size() + 1;
        return CronFault(column, {},
                         fmt::format("{} fields found; write 5 (minute hour day month weekday), 6 "
                                     "(second first) or 7 (year last)",
                                     count > 7 ? "too many" : std::to_string(count)));
    }

    CronFields fields;
    fields.seconds = 1;  // With 5 fields: at second 0.
    const std::size_t first = count == 5 ? 1 : 0;
    for (std::size_t i = 0; i < count; ++i) {
        const auto kind = static_cast<CronFieldKind>(first + i);
        if (Result<void> read = ReadCronField(kind, words[i], fields); !read) {
            return std::unexpected(std::move(read.error()));
        }
    }
    if (count < 7) fields.years.fill(~std::uint64_t{0});
    if (fields.FirstAtOrAfter(0) == CronFields::kNever) {
        return CronFault(words[3 - first].column, "day of month",
                         "no day of the months and years given fits, so it would never fire");
    }
    return fields;
}

Result<CronFields> ParseNickname(const CronWord& word, std::string_view text,
                                 std::size_t position) {
    for (const Nickname& nickname : kNicknames) {
        if (nickname.name != word.text) continue;
        const CronWord extra = NextWord(text, position);
        if (extra.text.empty()) return ParseFields(nickname.fields, 0);
        return CronFault(extra.column, {}, fmt::format("nothing may follow {}", word.text));
    }
    return CronFault(
        word.column, {},
        fmt::format("'{}' is unknown; there are @yearly, @annually, @monthly, @weekly, "
                    "@daily, @midnight, @hourly and @every",
                    word.text));
}

// The zone of a TZ= or CRON_TZ= in front, null if there is none. Moves `position` behind it.
Result<const TimeZone*> ParseZonePrefix(std::string_view text, std::size_t& position) {
    std::size_t end = position;
    const CronWord word = NextWord(text, end);
    for (const std::string_view prefix : {"TZ=", "CRON_TZ="}) {
        if (!word.text.starts_with(prefix)) continue;
        position = end;
        const std::string_view name = word.text.substr(prefix.size());
        const std::size_t column = word.column + prefix.size();
        if (name.empty()) return CronFault(column, "time zone", "a name must follow the =");
        Result<const TimeZone*> zone = TimeZone::Find(name);
        if (!zone && zone.error().code == ErrorCode::kInvalid) {
            return CronFault(column, "time zone", zone.error().detail);
        }
        return zone;
    }
    return nullptr;
}

}  // namespace

Result<Cron> Cron::Parse(std::string_view expression, const CronOptions& options) {
    if (Result<void> checked = CheckCharacters(expression); !checked) {
        return std::unexpected(std::move(checked.error()));
    }
    std::size_t position = 0;
    const Result<const TimeZone*> prefix = ParseZonePrefix(expression, position);
    if (!prefix) return std::unexpected(prefix.error());
    // Looked up even if the prefix goes before it: a setting that does nothing hides its mistakes.
    const Result<const TimeZone*> option = TimeZone::Find(options.timezone);
    if (!option) return std::unexpected(option.error());
    const TimeZone* zone = *prefix ? *prefix : *option;

    std::size_t behind = position;
    const CronWord word = NextWord(expression, behind);
    if (word.text.empty()) {
        return CronFault(word.column, {},
                         "the expression is empty; write it as 0 2 * * * or @daily");
    }
    if (word.text == "@every") {
        const Result<Duration> every = ParseEvery(expression, behind);
        if (!every) return std::unexpected(every.error());
        return Cron(CronFields{}, *every, zone, options.dst);
    }
    const Result<CronFields> fields = word.text[0] == '@' ? ParseNickname(word, expression, behind)
                                                          : ParseFields(expression, position);
    if (!fields) return std::unexpected(fields.error());
    return Cron(*fields, Duration(0), zone, options.dst);
}

}  // namespace takt::internal
