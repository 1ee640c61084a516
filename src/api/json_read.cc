#include "api/json_read.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/nearest.h"
#include "base/utf8.h"

namespace takt::internal {
namespace {

// A field's name may come from a stranger: enough of it to recognise is shown.
constexpr std::size_t kShownBytesMax = 64;

// Characters that a reader does not see, or that turn the text around them: C0 and C1 controls,
// line and paragraph separators, bidirectional controls, spaces without width. Joiners are letters
// to some scripts and stay.
bool IsUnseen(std::uint32_t code) {
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x200b || code == 0x200e ||
           code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2060 && code <= 0x2064) || (code >= 0x2066 && code <= 0x2069) ||
           code == 0xfeff;
}

// REQUIRES: UTF-8, as all JSON that was read is.
bool HasControl(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const auto first = static_cast<unsigned char>(text[at]);
        const std::size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
        std::uint32_t code = length == 1 ? first : first & (0x7fU >> length);
        for (std::size_t i = 1; i < length && at + i < text.size(); ++i) {
            code = (code << 6U) | (static_cast<unsigned char>(text[at + i]) & 0x3fU);
        }
        if (IsUnseen(code)) return true;
        at += length;
    }
    return false;
}

}  // namespace

std::unexpected<Error> BadField(std::string_view field, std::string_view why) {
    return Fail(ErrorCode::kInvalid, std::string(field) + " " + std::string(why),
                std::string(field));
}

std::string ListedOr(const std::vector<std::string_view>& names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
        text += names[i];
    }
    return text;
}

Result<std::int64_t> ReadInteger(const JsonView& value, std::string_view field,
                                 IntegerRange range) {
    const auto number = value.AsInteger();
    if (!number || *number < range.min || *number > range.max) {
        return BadField(field, "must be a whole number from " + std::to_string(range.min) + " to " +
                                   std::to_string(range.max));
    }
    return *number;
}

Result<double> ReadNumber(const JsonView& value, std::string_view field, NumberRange range) {
    const auto number = value.AsDouble();
    if (!number || !(*number >= range.min && *number <= range.max)) {
        std::string why = "must be a number from ";
        JsonWriter(why).Value(range.min);
        why += " to ";
        JsonWriter(why).Value(range.max);
        return BadField(field, why);
    }
    return *number;
}

Result<bool> ReadBool(const JsonView& value, std::string_view field) {
    const auto truth = value.AsBool();
    if (!truth) return BadField(field, "must be true or false");
    return *truth;
}

Result<Duration> ReadDuration(const JsonView& value, std::string_view field, Duration min) {
    Duration duration{-1};
    if (const auto seconds = value.AsDouble()) {
        const double most = static_cast<double>(kDurationMax.count()) / 1000;
        if (*seconds >= 0 && *seconds <= most) duration = Duration(std::llround(*seconds * 1000));
    } else if (value.is_string()) {
        std::string scratch;
        const auto parsed = ParseDuration(value.AsString(scratch));
        if (parsed) duration = *parsed;
    }
    if (duration < min) {
        return BadField(field,
                        "must be a number of seconds or a text such as \"90s\" or \"1h30m\", "
                        "from " +
                            FormatDuration(min) + " to 100 years");
    }
    return duration;
}

Result<Time> ReadTime(const JsonView& value, std::string_view field) {
    std::string scratch;
    if (value.is_string()) {
        const auto time = ParseTime(value.AsString(scratch));
        if (time) return *time;
    }
    return BadField(field, "must be a time from 1970 on, such as \"2026-11-15T02:00:00Z\"");
}

Result<std::string_view> ReadText(const JsonView& value, std::string_view field,
                                  std::size_t bytes_max, std::string& scratch) {
    if (value.is_string()) {
        const std::string_view text = value.AsString(scratch);
        if (!text.empty() && text.size() <= bytes_max && !HasControl(text)) return text;
    }
    return BadField(field, "must be a text of 1 to " + std::to_string(bytes_max) +
                               " bytes without control or invisible characters");
}

Result<std::vector<std::string>> ReadTexts(const JsonView& value, std::string_view field,
                                           const TextsLimits& limits) {
    if (value.kind() != JsonView::Kind::kArray) return BadField(field, "must be a list of texts");
    std::vector<std::string> texts;
    JsonView::Elements elements(value);
    std::string scratch;
    while (elements.Next()) {
        if (texts.size() == limits.count_max) {
            return BadField(field, "has more than " + std::to_string(limits.count_max) + " texts");
        }
        const std::string entry = std::string(field) + "[" + std::to_string(texts.size()) + "]";
        const auto text = ReadText(elements.value(), entry, limits.bytes_max, scratch);
        if (!text) return std::unexpected(text.error());
        texts.emplace_back(*text);
    }
    return texts;
}

Result<Pairs> ReadPairs(const JsonView& value, std::string_view field, const PairLimits& limits) {
    if (value.kind() != JsonView::Kind::kObject) {
        return BadField(field, "must be an object of names and texts");
    }
    Pairs pairs;
    JsonView::Members members(value);
    std::string scratch;
    while (members.Next()) {
        const std::string_view key = members.key();
        const std::string name =
            std::string(field) + "." + std::string(CutUtf8(key, kShownBytesMax));
        if (pairs.size() == limits.count_max) {
            return BadField(field,
                            "has more than " + std::to_string(limits.count_max) + " entries");
        }
        if (key.empty() || key.size() > limits.key_bytes_max || HasControl(key)) {
            return BadField(name, "has a name that is empty, longer than " +
                                      std::to_string(limits.key_bytes_max) +
                                      " bytes or holds control characters");
        }
        if (!members.value().is_string()) return BadField(name, "must be a text");
        const std::string_view text = members.value().AsString(scratch);
        if (text.size() > limits.value_bytes_max) {
            return BadField(name,
                            "is longer than " + std::to_string(limits.value_bytes_max) + " bytes");
        }
        pairs.emplace_back(Text(key), Text(text));
    }
    std::ranges::sort(pairs, {}, [](const auto& pair) { return pair.first.view(); });
    return pairs;
}

std::unexpected<Error> UnknownField(std::string_view unknown,
                                    std::span<const std::string_view> known,
                                    std::string_view prefix) {
    const std::string_view nearest = NearestName(unknown, known);
    const std::string shown(CutUtf8(unknown, kShownBytesMax));
    std::string detail = "there is no field '" + std::string(prefix) + shown + "'";
    if (!nearest.empty()) {
        detail += "; did you mean '" + std::string(nearest) + "'?";
    } else if (!prefix.empty() && !known.empty()) {
        // The parts of a field are few.
        detail += "; it has";
        for (const std::string_view& name : known) {
            detail += (&name == &known.front() ? " " : ", ") + std::string(name);
        }
    }
    return Fail(ErrorCode::kInvalid, std::move(detail), std::string(prefix) + shown);
}

Result<JsonView> ReadObject(std::string_view text, std::size_t bytes_max) {
    if (text.empty()) return Fail(ErrorCode::kInvalid, "the body is empty; send a JSON object");
    if (auto checked = CheckJson(text, {.bytes_max = bytes_max}); !checked) {
        return std::unexpected(std::move(checked.error()));
    }
    const JsonView view(text);
    if (view.kind() != JsonView::Kind::kObject) {
        return Fail(ErrorCode::kInvalid, "the body must be a JSON object");
    }
    return view;
}

}  // namespace takt::internal
