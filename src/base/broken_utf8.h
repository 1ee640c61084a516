// The place where a file is not UTF-8, for whoever wrote it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace takt::internal {

struct BrokenUtf8 {
    int line = 1;
    std::string detail;  // "is not UTF-8: the byte 0xe9 after 'name: caf'"
};

// The first one; nothing if all of it is UTF-8.
inline std::optional<BrokenUtf8> FindBrokenUtf8(std::string_view text) {
    BrokenUtf8 broken;
    for (std::size_t begin = 0; begin < text.size(); ++broken.line) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string_view line = text.substr(begin, end - begin);
        begin = end + 1;
        if (IsValidUtf8(line)) continue;
        std::size_t at = 0;
        while (const std::size_t length = Utf8Length(line.substr(at))) at += length;
        broken.detail =
            fmt::format("is not UTF-8: the byte 0x{:02x} after '{}'",
                        static_cast<std::uint8_t>(line[at]), CutUtf8(line.substr(0, at), 60));
        return broken;
    }
    return std::nullopt;
}

}  // namespace takt::internal
