#include "store/mysql/values.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace takt::internal::mysql {
namespace {

// The letter after the backslash, or 0 for bytes that stand for themselves. Connection sets a
// sql_mode in which backslashes escape.
constexpr std::array<char, 256> kEscapes = [] {
    std::array<char, 256> escapes{};
    escapes['\0'] = '0';
    escapes['\n'] = 'n';
    escapes['\r'] = 'r';
    escapes['\\'] = '\\';
    escapes['\''] = '\'';
    escapes['"'] = '"';
    escapes['\x1a'] = 'Z';
    return escapes;
}();

void AppendQuoted(std::string& to, std::string_view bytes) {
    to += '\'';
    const char* plain = bytes.data();
    const char* end = bytes.data() + bytes.size();
    for (const char* c = plain; c != end; ++c) {
        const char escape = kEscapes[static_cast<unsigned char>(*c)];
        if (escape == 0) continue;
        to.append(plain, c);
        to += '\\';
        to += escape;
        plain = c + 1;
    }
    to.append(plain, end);
    to += '\'';
}

template <typename Number>
void AppendNumber(std::string& to, Number number) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    to.append(digits.data(), end);
}

}  // namespace

void AppendText(std::string& to, std::string_view bytes) {
    const bool ascii = std::ranges::all_of(bytes, [](char c) { return (c & 0x80) == 0; });
    if (!ascii) to += "_binary";
    AppendQuoted(to, bytes);
}

void AppendBinary(std::string& to, std::string_view bytes) {
    to += "_binary";
    AppendQuoted(to, bytes);
}

void AppendInt(std::string& to, std::int64_t number) {
    AppendNumber(to, number);
}

void AppendUnsigned(std::string& to, std::uint64_t number) {
    AppendNumber(to, number);
}

void JsonGrid::Text(std::string_view text) {
    ((text_ += '"') += text) += '"';
    End();
}

void JsonGrid::Blob(std::string_view bytes) {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    text_ += '"';
    for (const char c : bytes) {
        text_ += kDigits[static_cast<unsigned char>(c) >> 4];
        text_ += kDigits[static_cast<unsigned char>(c) & 15];
    }
    text_ += '"';
    End();
}

bool IsPlainJson(std::string_view text) {
    return std::ranges::all_of(
        text, [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\' && c != '\''; });
}

std::string_view Grid::At(std::size_t row, std::size_t column) const {
    const std::size_t index = row * columns_ + column;
    const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
    return std::string_view(text_).substr(begin, ends_[index] - begin);
}

bool Grid::IsSame(std::size_t column) const {
    const std::string_view first = At(0, column);
    for (std::size_t row = 1; row < rows(); ++row) {
        if (At(row, column) != first) return false;
    }
    return true;
}

}  // namespace takt::internal::mysql
