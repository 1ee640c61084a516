#include "definitions/yaml_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "base/json.h"

namespace takt::internal {
namespace {

using Kind = JsonView::Kind;

bool IsPlainCharacter(unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.' || c == '/' || c == ' ' || c >= 0x80;
}

// A text that needs no quotes wherever it stands, and that no version of YAML takes for anything
// else. Rather a pair of quotes too many than a surprise.
bool IsPlain(std::string_view text) {
    static constexpr std::array<std::string_view, 12> kWords = {
        "null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf", "~"};
    if (text.empty() || text.size() > 200) return false;
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
    if (text.ends_with("\n\n")) return false;
    return std::ranges::all_of(text, [](char c) {
        const auto code = static_cast<unsigned char>(c);
        return c == '\n' || (code >= 0x20 && code != 0x7f);
    });
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
        } else {
            AppendJsonString(out, text);
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
