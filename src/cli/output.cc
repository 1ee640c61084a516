#include "cli/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/check.h"
#include "base/json.h"
#include "base/unprintable.h"
#include "cli/formats.h"

namespace takt::internal::cli {
namespace {

struct Glyph {
    std::size_t bytes;
    char32_t code;
};

// The API's JSON is valid UTF-8; any other byte stands for itself.
Glyph GlyphAt(std::string_view text, std::size_t at) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t bytes = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (bytes == 1 || at + bytes > text.size()) return {1, lead};
    char32_t code = lead & (0xFF >> (bytes + 1));
    for (std::size_t i = 1; i < bytes; ++i) {
        code = (code << 6) | (static_cast<unsigned char>(text[at + i]) & 0x3F);
    }
    return {bytes, code};
}

std::size_t WidthOf(char32_t code) {
    const bool wide = (code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF) ||
                      (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF) ||
                      (code >= 0xFE30 && code <= 0xFE6F) || (code >= 0xFF00 && code <= 0xFF60) ||
                      (code >= 0x1F300 && code <= 0x1FAFF) || (code >= 0x20000 && code <= 0x3FFFD);
    return wide ? 2 : 1;
}

std::string Pad(std::string_view text, std::size_t width) {
    const std::size_t taken = DisplayWidth(text);
    return std::string(width > taken ? width - taken : 0, ' ');
}

}  // namespace

bool UseColour() {
    static const bool use = [] {
        const char* off = std::getenv("NO_COLOR");
        const char* terminal = std::getenv("TERM");
        if (off && *off) return false;
        if (terminal && std::string_view(terminal) == "dumb") return false;
        return isatty(STDOUT_FILENO) == 1;
    }();
    return use;
}

std::string Paint(std::string_view text, Colour colour) {
    if (colour == Colour::kNone || !UseColour()) return std::string(text);
    static constexpr std::string_view kCodes[] = {"0", "31", "32", "33", "34", "2", "1"};
    return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<std::size_t>(colour)], text);
}

Colour ColourOf(std::string_view status) {
    if (status == "success" || status == "online" || status == "leader") return Colour::kGreen;
    if (status == "failed" || status == "offline") return Colour::kRed;
    if (status == "running") return Colour::kBlue;
    if (status == "retrying" || status == "draining" || status == "paused") return Colour::kYellow;
    if (status == "maintenance" || status == "disconnected") return Colour::kYellow;
    if (status == "cancelled" || status == "skipped") return Colour::kDim;
    return Colour::kNone;
}

std::size_t DisplayWidth(std::string_view text) {
    std::size_t width = 0;
    for (std::size_t at = 0; at < text.size();) {
        const Glyph glyph = GlyphAt(text, at);
        width += WidthOf(glyph.code);
        at += glyph.bytes;
    }
    return width;
}

std::string Clean(std::string_view text, std::size_t width_max) {
    std::string out;
    std::size_t width = 0;
    for (std::size_t at = 0; at < text.size();) {
        const Glyph glyph = GlyphAt(text, at);
        width += WidthOf(glyph.code);
        if (width > width_max - 1 && at + glyph.bytes < text.size()) return out + "…";
        if (IsUnprintable(glyph.code)) {
            out += '?';
        } else {
            out += text.substr(at, glyph.bytes);
        }
        at += glyph.bytes;
    }
    return out;
}

Table::Table(std::vector<std::string> heads, const std::vector<std::string>& wide)
    : wide_from_(heads.size()), heads_(std::move(heads)) {
    if (IsWide()) heads_.insert(heads_.end(), wide.begin(), wide.end());
}

void Table::Add(std::vector<Cell> row, const std::vector<Cell>& wide) {
    TAKT_CHECK(row.size() == wide_from_);
    if (IsWide()) row.insert(row.end(), wide.begin(), wide.end());
    rows_.push_back(std::move(row));
}

Table& Table::Optional(const std::string& head) {
    optional_.push_back(head);
    return *this;
}

bool Table::IsLeftOut(std::size_t column) const {
    if (std::ranges::find(optional_, heads_[column]) == optional_.end()) return false;
    return std::ranges::all_of(rows_, [&](const auto& row) { return row[column].text.empty(); });
}

std::string Table::Text() const {
    std::vector<std::size_t> widths;
    for (const std::string& head : heads_) widths.push_back(DisplayWidth(head));
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], DisplayWidth(row[i].text));
        }
    }
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < heads_.size(); ++i) {
        if (!IsLeftOut(i)) columns.push_back(i);
    }
    std::string out;
    const auto add = [&](std::string_view text, Colour colour, std::size_t column) {
        out += Paint(text, colour);
        if (column == columns.back()) {
            out += '\n';
        } else {
            out += Pad(text, widths[column]) + "  ";
        }
    };
    for (const std::size_t i : columns) add(heads_[i], Colour::kBold, i);
    for (const auto& row : rows_) {
        for (const std::size_t i : columns) add(row[i].text, row[i].colour, i);
    }
    return out;
}

void Table::Print() const {
    const std::string text = Text();
    std::fwrite(text.data(), 1, text.size(), stdout);
}

const boost::json::value* FindMember(const boost::json::value& value, std::string_view name) {
    const auto* object = value.if_object();
    return object ? object->if_contains(name) : nullptr;
}

std::string Member(const boost::json::value& value, std::string_view name) {
    const auto* member = FindMember(value, name);
    if (!member || member->is_null()) return {};
    if (const auto* text = member->if_string()) return Clean(std::string_view(*text), 10'000);
    std::string out;
    AppendJson(out, *member);
    return out;
}

double NumberMember(const boost::json::value& value, std::string_view name) {
    const auto* member = FindMember(value, name);
    if (!member) return 0;
    if (member->is_int64()) return static_cast<double>(member->get_int64());
    if (member->is_uint64()) return static_cast<double>(member->get_uint64());
    return member->is_double() ? member->get_double() : 0;
}

std::vector<const boost::json::value*> ListMember(const boost::json::value& value,
                                                  std::string_view name) {
    std::vector<const boost::json::value*> items;
    const auto* member = FindMember(value, name);
    const auto* list = member ? member->if_array() : nullptr;
    if (!list) return items;
    for (const auto& item : *list) items.push_back(&item);
    return items;
}

std::string ShortTime(std::string_view time) {
    if (time.size() < 19) return "-";
    std::string out(time.substr(0, 19));
    out[10] = ' ';
    return out;
}

std::string ExactTime(std::string_view time) {
    const std::string_view rest = time.size() > 19 ? time.substr(19, 4) : std::string_view();
    const bool whole = !rest.starts_with('.') || rest == ".000";
    return ShortTime(time) + std::string(whole ? "" : rest);
}

std::string ShortDuration(double seconds) {
    if (seconds < 60) return fmt::format("{:.1f}s", seconds);
    const auto whole = static_cast<std::uint64_t>(seconds);
    if (whole < 3'600) return fmt::format("{}m{}s", whole / 60, whole % 60);
    if (whole < 86'400) return fmt::format("{}h{}m", whole / 3'600, whole / 60 % 60);
    return fmt::format("{}d{}h", whole / 86'400, whole / 3'600 % 24);
}

std::string TimeBetween(std::string_view from, std::string_view to) {
    const auto begin = ParseTime(from);
    const auto end = ParseTime(to);
    if (!begin || !end) return "-";
    return FormatDuration(*end - *begin);
}

std::string Fields(const std::vector<std::pair<std::string, Cell>>& fields) {
    std::size_t width = 0;
    for (const auto& [name, value] : fields) width = std::max(width, name.size());
    std::string out;
    for (const auto& [name, value] : fields) {
        out += Paint(name, Colour::kDim) + Pad(name, width) + "  " +
               Paint(value.text, value.colour) + "\n";
    }
    return out;
}

std::string ObjectText(const boost::json::value& object) {
    std::vector<std::pair<std::string, Cell>> fields;
    const auto* members = object.if_object();
    if (!members) return {};
    for (const auto& member : *members) {
        std::string name(member.key());
        std::string text = Clean(Member(object, name), 500);
        if (!text.empty()) fields.emplace_back(std::move(name), Cell(std::move(text)));
    }
    return Fields(fields);
}

}  // namespace takt::internal::cli
