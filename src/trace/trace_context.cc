#include "trace/trace_context.h"

#include <algorithm>
#include <span>

namespace takt::internal {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";
// version "-" trace "-" span "-" flags
constexpr std::size_t kTraceAt = 3;
constexpr std::size_t kSpanAt = 36;
constexpr std::size_t kFlagsAt = 53;
constexpr std::size_t kBytes = 55;

std::string HexOf(std::span<const std::uint8_t> bytes) {
    std::string text;
    text.reserve(2 * bytes.size());
    for (const std::uint8_t byte : bytes) {
        text += kHex[byte >> 4];
        text += kHex[byte & 15];
    }
    return text;
}

// Small letters only: the specification says so.
bool ReadHex(std::string_view text, std::span<std::uint8_t> bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const std::size_t high = kHex.find(text[2 * i]);
        const std::size_t low = kHex.find(text[2 * i + 1]);
        if (high == kHex.npos || low == kHex.npos) return false;
        bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
    }
    return true;
}

bool IsZero(std::span<const std::uint8_t> bytes) {
    return std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

std::string TraceIdText(const TraceId& id) {
    return HexOf(id);
}

std::string SpanIdText(const SpanId& id) {
    return HexOf(id);
}

std::optional<TraceParent> ParseTraceParent(std::string_view text) {
    if (text.size() < kBytes || text[2] != '-' || text[kSpanAt - 1] != '-' ||
        text[kFlagsAt - 1] != '-') {
        return std::nullopt;
    }
    std::array<std::uint8_t, 1> version{};
    std::array<std::uint8_t, 1> flags{};
    TraceParent parent;
    if (!ReadHex(text, version) || !ReadHex(text.substr(kTraceAt), parent.trace) ||
        !ReadHex(text.substr(kSpanAt), parent.span) || !ReadHex(text.substr(kFlagsAt), flags)) {
        return std::nullopt;
    }
    if (version[0] == 0xff || IsZero(parent.trace) || IsZero(parent.span)) return std::nullopt;
    if (text.size() > kBytes && (version[0] == 0 || text[kBytes] != '-')) return std::nullopt;
    parent.sampled = (flags[0] & 1) != 0;
    return parent;
}

std::string FormatTraceParent(const TraceParent& parent) {
    return "00-" + HexOf(parent.trace) + "-" + HexOf(parent.span) +
           (parent.sampled ? "-01" : "-00");
}

bool IsTraceState(std::string_view text) {
    return !text.empty() && text.size() <= kTraceStateBytesMax &&
           std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace takt::internal
