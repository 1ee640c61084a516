#include "definitions/yaml_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "base/json.h"

namespace takt::internal {
namespace {

using Kind = JsonView::Kind;

// Characters that some version of YAML takes for the end of a line, or lets stand nowhere, in
// UTF-8: DEL, the controls from U+0080 on with U+0085 among them, U+2028, U+2029, U+FEFF, U+FFFE
// and U+FFFF. The length of the one at the front, and its number; 0 if there is none.
struct Breaking {
    std::size_t size = 0;
    unsigned code = 0;
};
Breaking BreakingAt(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    if (byte(0) == 0x7f) return {1, 0x7f};
    if (text.size() >= 2 && byte(0) == 0xc2 && byte(1) < 0xa0) return {2, byte(1)};
    if (text.size() < 3) return {};
    const unsigned code = (byte(0) & 0xfu) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu);
    const bool breaks = byte(0) >= 0xe0 && byte(0) < 0xf0 &&
                        (code == 0x2028 || code == 0x2029 || code == 0xfeff || code >= 0xfffe);
    return breaks ? Breaking{3, code} : Breaking{};
}

bool HasBreaking(std::string_view text) {
    for (; !text.empty(); text.remove_prefix(1)) {
        if (BreakingAt(text).size > 0) return true;
    }
    return false;
}

bool IsPlainCharacter(unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.' || c == '/' || c == ' ' || c >= 0x80;
}

// A text that needs no quotes wherever it stands, and that no version of YAML takes for anything
// else. Rather a pair of quotes too many than a surprise.
bool IsPlain(std::string_view text) {
    static constexpr std::array<std::string_view, 12> kWords = {
        "null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf", "~"};
    if (text.empty() || text.size() > 200 || HasBreaking(text)) return false;
    const bool begins = std::isalpha(static_cast<unsigned char>(text.front())) ||
                        static_cast<unsigned char>(text.front()) >= 0x80;
    if (!begins || text.back() == ' ') return false;
    if (!std::ranges::all_of(
            text, [](char c) { return IsPlainCharacter(static_cast<unsigned char>(c)); })) {
        return false;
    }
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    return std::ranges::find(kWords, lower) == kWords.end();
}

// Lines that can stand as they are under "|".
bool IsBlock(std::string_view text) {
    if (text.find('\n') == std::string_view::npos || text.front() == ' ' || text.front() == '\n') {
        return false;
    }
    // One newline at the end, or none; more would need another sign.
    if (text.ends_with("\n\n") || HasBreaking(text)) return false;
    return std::ranges::all_of(
        text, [](char c) { return c == '\n' || static_cast<unsigned char>(c) >= 0x20; });
}

class YamlPrinter {
  public:
    // Behind a name or a dash, on whose line it may begin.
    void Value(const JsonView& value, std::size_t indent) {
        switch (value.kind()) {
            case Kind::kObject:
                return Object(value, indent);
            case Kind::kArray:
                return Array(value, indent);
            case Kind::kString: {
                std::string scratch;
                return Text(value.AsString(scratch), indent);
            }
            default:
                out += " " + std::string(value.raw()) + "\n";
        }
    }

    void Members(const JsonView& object, std::size_t indent, bool first_is_begun) {
        JsonView::Members members(object);
        while (members.Next()) {
            if (!first_is_begun) out.append(indent, ' ');
            first_is_begun = false;
            Quoted(members.key());
            out += ':';
            Value(members.value(), indent + 2);
        }
    }

    std::string out;

  private:
    void Object(const JsonView& value, std::size_t indent) {
        if (!HasMembers(value)) {
            out += " {}\n";
            return;
        }
        out += '\n';
        Members(value, indent, false);
    }

    void Array(const JsonView& value, std::size_t indent) {
        JsonView::Elements any(value);
        if (!any.Next()) {
            out += " []\n";
            return;
        }
        out += '\n';
        JsonView::Elements elements(value);
        while (elements.Next()) {
            const JsonView item = elements.value();
            out.append(indent, ' ');
            out += '-';
            if (item.kind() == Kind::kObject && HasMembers(item)) {
                out += ' ';
                Members(item, indent + 2, true);
            } else {
                Value(item, indent + 2);
            }
        }
    }

    static bool HasMembers(const JsonView& object) {
        JsonView::Members members(object);
        return members.Next();
    }

    void Text(std::string_view text, std::size_t indent) {
        if (!IsBlock(text)) {
            out += ' ';
            Quoted(text);
            out += '\n';
            return;
        }
        out += text.back() == '\n' ? " |\n" : " |-\n";
        while (!text.empty()) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            if (end > 0) out.append(indent, ' ').append(text.substr(0, end));
            out += '\n';
            text.remove_prefix(std::min(end + 1, text.size()));
        }
    }

    void Quoted(std::string_view text) {
        if (IsPlain(text)) {
            out += text;
            return;
        }
        std::string json;
        AppendJsonString(json, text);
        for (std::string_view rest = json; !rest.empty();) {
            const Breaking found = BreakingAt(rest);
            if (found.size > 0) {
                out += fmt::format("\\u{:04x}", found.code);
            } else {
                out += rest.front();
            }
            rest.remove_prefix(std::max<std::size_t>(found.size, 1));
        }
    }
};

}  // namespace

std::string YamlText(const JsonView& value) {
    YamlPrinter printer;
    if (value.kind() == Kind::kObject) {
        printer.Members(value, 0, false);
    } else {
        printer.Value(value, 0);
    }
    return std::move(printer.out);
}

}  // namespace takt::internal
