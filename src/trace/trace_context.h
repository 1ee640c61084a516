// W3C Trace Context: which trace something belongs to, as headers spell it.
// https://www.w3.org/TR/trace-context/
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace takt::internal {

using TraceId = std::array<std::uint8_t, 16>;  // Never all zeros.
using SpanId = std::array<std::uint8_t, 8>;    // Never all zeros, unless it says "none".

std::string TraceIdText(const TraceId& id);
std::string SpanIdText(const SpanId& id);

// The header traceparent.
struct TraceParent {
    TraceId trace{};
    SpanId span{};  // Of whoever sends it.
    bool sampled = false;

    friend bool operator==(const TraceParent&, const TraceParent&) = default;
};

// Nothing if it is none: wrong digits, all zeros, version ff. Later versions are read as far as
// this one knows them.
std::optional<TraceParent> ParseTraceParent(std::string_view text);
std::string FormatTraceParent(const TraceParent& parent);

// The header tracestate is others' business and handed on as it came, if it can be: printable and
// not longer than a vendor may expect to be handed on.
constexpr std::size_t kTraceStateBytesMax = 512;
bool IsTraceState(std::string_view text);

}  // namespace takt::internal
