#include "base/json_view.h"

#include <charconv>
#include <cstring>

#include "base/check.h"

namespace takt::internal {
namespace {

bool IsSpace(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

std::string_view SkipSpace(std::string_view text) {
    std::size_t i = 0;
    while (i < text.size() && IsSpace(text[i])) ++i;
    return text.substr(i);
}

// The length of the string at the front, quotes included.
std::size_t StringLength(std::string_view text) {
    std::size_t at = 1;
    for (;;) {
        const void* quote = std::memchr(text.data() + at, '"', text.size() - at);
        TAKT_CHECK(quote);
        const auto end = static_cast<std::size_t>(static_cast<const char*>(quote) - text.data());
        std::size_t slashes = 0;
        while (text[end - 1 - slashes] == '\\') ++slashes;
        if (slashes % 2 == 0) return end + 1;
        at = end + 1;
    }
}

std::size_t NestedLength(std::string_view text) {
    std::size_t depth = 0;
    for (std::size_t i = 0; i < text.size();) {
        const char c = text[i];
        if (c == '"') {
            i += StringLength(text.substr(i));
            continue;
        }
        ++i;
        if (c == '{' || c == '[') ++depth;
        if ((c == '}' || c == ']') && --depth == 0) return i;
    }
    TAKT_CHECK(!"the text was not checked");
}

// The length of the value at the front.
std::size_t ValueLength(std::string_view text) {
    TAKT_CHECK(!text.empty());
    if (text[0] == '"') return StringLength(text);
    if (text[0] == '{' || text[0] == '[') return NestedLength(text);
    std::size_t i = 0;
    while (i < text.size() && !IsSpace(text[i]) && text[i] != ',' && text[i] != '}' &&
           text[i] != ']') {
        ++i;
    }
    return i;
}

unsigned HexDigits(std::string_view text) {
    unsigned value = 0;
    std::from_chars(text.data(), text.data() + 4, value, 16);
    return value;
}

void AppendUtf8(std::string& out, unsigned code) {
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x800) {
        out += static_cast<char>(0xc0 | code >> 6);
        out += static_cast<char>(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        out += static_cast<char>(0xe0 | code >> 12);
        out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
        out += static_cast<char>(0x80 | (code & 0x3f));
    } else {
        out += static_cast<char>(0xf0 | code >> 18);
        out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
        out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
        out += static_cast<char>(0x80 | (code & 0x3f));
    }
}

// Decodes the escape after a backslash; how many characters it took.
std::size_t DecodeEscape(std::string_view text, std::string& out) {
    switch (text[0]) {
        case 'b':
            out += '\b';
            return 1;
        case 'f':
            out += '\f';
            return 1;
        case 'n':
            out += '\n';
            return 1;
        case 'r':
            out += '\r';
            return 1;
        case 't':
            out += '\t';
            return 1;
        case 'u':
            break;
        default:
            out += text[0];
            return 1;
    }
    const unsigned first = HexDigits(text.substr(1));
    if (first < 0xd800 || first > 0xdbff) {
        AppendUtf8(out, first);
        return 5;
    }
    // A valid text has the other half right behind it.
    const unsigned second = HexDigits(text.substr(7));
    AppendUtf8(out, 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
    return 11;
}

std::string_view DecodeString(std::string_view quoted, std::string& scratch) {
    const std::string_view inside = quoted.substr(1, quoted.size() - 2);
    std::size_t slash = inside.find('\\');
    if (slash == inside.npos) return inside;
    scratch.clear();
    std::size_t at = 0;
    while (slash != inside.npos) {
        scratch.append(inside, at, slash - at);
        at = slash + 1;
        at += DecodeEscape(inside.substr(at), scratch);
        slash = inside.find('\\', at);
    }
    scratch.append(inside, at);
    return scratch;
}

}  // namespace

JsonView::JsonView(std::string_view text) : raw_(SkipSpace(text)) {
    raw_ = raw_.substr(0, ValueLength(raw_));
}

JsonView::Kind JsonView::kind() const {
    switch (raw_[0]) {
        case '{':
            return Kind::kObject;
        case '[':
            return Kind::kArray;
        case '"':
            return Kind::kString;
        case 't':
        case 'f':
            return Kind::kBool;
        case 'n':
            return Kind::kNull;
        default:
            return Kind::kNumber;
    }
}

std::string_view JsonView::AsString(std::string& scratch) const {
    TAKT_CHECK(is_string());
    return DecodeString(raw_, scratch);
}

std::optional<std::int64_t> JsonView::AsInteger() const {
    if (!is_number()) return std::nullopt;
    std::int64_t number = 0;
    const char* end = raw_.data() + raw_.size();
    const auto [stop, error] = std::from_chars(raw_.data(), end, number);
    if (error != std::errc() || stop != end) return std::nullopt;
    return number;
}

std::optional<double> JsonView::AsDouble() const {
    if (!is_number()) return std::nullopt;
    double number = 0;
    const char* end = raw_.data() + raw_.size();
    const auto [stop, error] = std::from_chars(raw_.data(), end, number);
    // The only number out of range that a checked text can have is one too near to zero.
    if (error == std::errc::result_out_of_range) return 0;
    if (error != std::errc() || stop != end) return std::nullopt;
    return number;
}

std::optional<bool> JsonView::AsBool() const {
    if (kind() != Kind::kBool) return std::nullopt;
    return raw_ == "true";
}

JsonView::Members::Members(const JsonView& object) : rest_(object.raw_.substr(1)) {
    TAKT_CHECK(object.kind() == Kind::kObject);
}

bool JsonView::Members::Next() {
    rest_ = SkipSpace(rest_);
    if (rest_[0] == ',') rest_ = SkipSpace(rest_.substr(1));
    if (rest_[0] == '}') return false;
    const std::size_t key_length = StringLength(rest_);
    key_ = DecodeString(rest_.substr(0, key_length), scratch_);
    rest_ = SkipSpace(rest_.substr(key_length));
    rest_ = SkipSpace(rest_.substr(1));  // The colon.
    value_ = rest_.substr(0, ValueLength(rest_));
    rest_ = rest_.substr(value_.size());
    return true;
}

JsonView::Elements::Elements(const JsonView& array) : rest_(array.raw_.substr(1)) {
    TAKT_CHECK(array.kind() == Kind::kArray);
}

bool JsonView::Elements::Next() {
    rest_ = SkipSpace(rest_);
    if (rest_[0] == ',') rest_ = SkipSpace(rest_.substr(1));
    if (rest_[0] == ']') return false;
    value_ = rest_.substr(0, ValueLength(rest_));
    rest_ = rest_.substr(value_.size());
    return true;
}

}  // namespace takt::internal
