#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace takt::internal {
namespace {

bool IsContinuation(char c) {
    return (static_cast<std::uint8_t>(c) & 0xc0) == 0x80;
}

}  // namespace

std::size_t Utf8Length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::uint8_t first = byte(0);
    if (first < 0x80) return 1;
    const std::size_t length = first >= 0xc2 && first <= 0xdf   ? 2
                               : first >= 0xe0 && first <= 0xef ? 3
                               : first >= 0xf0 && first <= 0xf4 ? 4
                                                                : 0;
    if (length == 0 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if (!IsContinuation(text[i])) return 0;
    }
    const std::uint8_t second = byte(1);
    if (first == 0xe0 && second < 0xa0) return 0;  // Overlong.
    if (first == 0xed && second > 0x9f) return 0;  // Surrogates.
    if (first == 0xf0 && second < 0x90) return 0;  // Overlong.
    if (first == 0xf4 && second > 0x8f) return 0;  // Above U+10FFFF.
    return length;
}

bool IsValidUtf8(std::string_view text) {
    while (!text.empty()) {
        // Most texts have no other bytes than ASCII's: eight of them at once.
        std::uint64_t eight = 0;
        if (text.size() >= sizeof(eight)) {
            std::memcpy(&eight, text.data(), sizeof(eight));
            if ((eight & 0x8080808080808080) == 0) {
                text.remove_prefix(sizeof(eight));
                continue;
            }
        }
        const std::size_t length = Utf8Length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string_view CutUtf8(std::string_view text, std::size_t bytes_max) {
    if (text.size() <= bytes_max) return text;
    std::size_t end = bytes_max;
    // A character has at most three bytes after its first; more of them are not UTF-8 anyway.
    for (int i = 0; i < 3 && end > 0 && IsContinuation(text[end]); ++i) --end;
    return text.substr(0, end);
}

}  // namespace takt::internal
