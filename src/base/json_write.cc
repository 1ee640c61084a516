#include <array>
#include <boost/json/value.hpp>
#include <charconv>
#include <cmath>

#include "base/json.h"
#include "base/utf8.h"

namespace takt::internal {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

// The characters that stand in a JSON string as themselves: printable ASCII but the quote and the
// backslash. DEL is not printable, and harmless to escape.
constexpr std::array<bool, 256> kPlain = [] {
    std::array<bool, 256> plain{};
    for (std::size_t c = 0x20; c < 0x7f; ++c) plain[c] = c != '"' && c != '\\';
    return plain;
}();

void AppendEscaped(std::string& out, char c) {
    switch (c) {
        case '"':
            out += "\\\"";
            return;
        case '\\':
            out += "\\\\";
            return;
        case '\b':
            out += "\\b";
            return;
        case '\f':
            out += "\\f";
            return;
        case '\n':
            out += "\\n";
            return;
        case '\r':
            out += "\\r";
            return;
        case '\t':
            out += "\\t";
            return;
        default:
            out += "\\u00";
            out += kHex[static_cast<std::uint8_t>(c) >> 4];
            out += kHex[static_cast<std::uint8_t>(c) & 15];
    }
}

// U+0080 to U+009F, some of which command a terminal that shows the JSON. Their second byte in
// UTF-8 is their number.
bool IsC1Control(std::string_view text) {
    return text.size() >= 2 && text[0] == '\xc2' && static_cast<std::uint8_t>(text[1]) >= 0x80 &&
           static_cast<std::uint8_t>(text[1]) < 0xa0;
}

template <typename Number>
void AppendNumber(std::string& out, Number number) {
    // 20 digits and a sign for integers, 24 characters for the longest double.
    std::array<char, 32> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
    out.append(text.data(), end);
}

void AppendDouble(std::string& out, double number) {
    if (!std::isfinite(number)) {
        out += "null";
        return;
    }
    const std::size_t start = out.size();
    AppendNumber(out, number);
    if (out.find_first_of(".e", start) == std::string::npos) out += ".0";
}

}  // namespace

void AppendJsonString(std::string& out, std::string_view text) {
    out += '"';
    std::size_t start = 0;
    for (std::size_t i = 0; i < text.size();) {
        if (kPlain[static_cast<std::uint8_t>(text[i])]) {
            ++i;
            continue;
        }
        out.append(text, start, i - start);
        if (static_cast<std::uint8_t>(text[i]) < 0x80) {
            AppendEscaped(out, text[i++]);
        } else if (IsC1Control(text.substr(i))) {
            AppendEscaped(out, text[i + 1]);
            i += 2;
        } else if (const std::size_t length = Utf8Length(text.substr(i)); length > 0) {
            out.append(text, i, length);
            i += length;
        } else {
            out += "\\ufffd";
            ++i;
        }
        start = i;
    }
    out.append(text, start, text.size() - start);
    out += '"';
}

void AppendJson(std::string& out, const boost::json::value& value) {
    switch (value.kind()) {
        case boost::json::kind::null:
            out += "null";
            return;
        case boost::json::kind::bool_:
            out += value.get_bool() ? "true" : "false";
            return;
        case boost::json::kind::int64:
            AppendNumber(out, value.get_int64());
            return;
        case boost::json::kind::uint64:
            AppendNumber(out, value.get_uint64());
            return;
        case boost::json::kind::double_:
            AppendDouble(out, value.get_double());
            return;
        case boost::json::kind::string:
            AppendJsonString(out, value.get_string());
            return;
        case boost::json::kind::array: {
            char before = '[';
            // As deep as the tree, which ParseJson bounds.
            for (const boost::json::value& item : value.get_array()) {
                out += before;
                AppendJson(out, item);
                before = ',';
            }
            out += before == '[' ? "[]" : "]";
            return;
        }
        case boost::json::kind::object: {
            char before = '{';
            for (const auto& member : value.get_object()) {
                out += before;
                AppendJsonString(out, member.key());
                out += ':';
                AppendJson(out, member.value());
                before = ',';
            }
            out += before == '{' ? "{}" : "}";
            return;
        }
    }
}

void JsonWriter::Separate() {
    if (comma_) out_ += ',';
    comma_ = true;
}

JsonWriter& JsonWriter::Open(char bracket) {
    Separate();
    out_ += bracket;
    comma_ = false;
    return *this;
}

JsonWriter& JsonWriter::Close(char bracket) {
    out_ += bracket;
    comma_ = true;
    return *this;
}

JsonWriter& JsonWriter::Key(std::string_view key) {
    Separate();
    out_ += '"';
    out_ += key;
    out_ += "\":";
    comma_ = false;
    return *this;
}

JsonWriter& JsonWriter::UserKey(std::string_view key) {
    Separate();
    AppendJsonString(out_, key);
    out_ += ':';
    comma_ = false;
    return *this;
}

JsonWriter& JsonWriter::Value(std::string_view text) {
    Separate();
    AppendJsonString(out_, text);
    return *this;
}

JsonWriter& JsonWriter::Value(bool value) {
    return Raw(value ? "true" : "false");
}

JsonWriter& JsonWriter::Value(double value) {
    Separate();
    AppendDouble(out_, value);
    return *this;
}

JsonWriter& JsonWriter::Value(Time time) {
    if (time == Time{}) return Null();
    Separate();
    out_ += '"';
    out_ += FormatTime(time);
    out_ += '"';
    return *this;
}

JsonWriter& JsonWriter::Signed(std::int64_t number) {
    Separate();
    AppendNumber(out_, number);
    return *this;
}

JsonWriter& JsonWriter::Unsigned(std::uint64_t number) {
    Separate();
    AppendNumber(out_, number);
    return *this;
}

JsonWriter& JsonWriter::Null() {
    return Raw("null");
}

JsonWriter& JsonWriter::Raw(std::string_view json) {
    Separate();
    out_ += json;
    return *this;
}

}  // namespace takt::internal
