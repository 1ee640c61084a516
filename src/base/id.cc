#include "base/id.h"

#include <algorithm>
#include <array>

namespace takt::internal {
namespace {

constexpr int kCounterBits = 14;
constexpr int kPartitionBits = 8;
constexpr int kTimeShift = kCounterBits + kPartitionBits;
constexpr Serial kCounterMask = (Serial{1} << kCounterBits) - 1;
constexpr Serial kMillisecondsMax = (Serial{1} << (63 - kTimeShift)) - 1;
constexpr std::string_view kDigits = "0123456789abcdefghjkmnpqrstvwxyz";
constexpr std::size_t kSerialDigits = 13;
constexpr Time kSerialEpoch = std::chrono::sys_days(std::chrono::year(2024) / 1 / 1);

// A year before the last moment that a serial can hold: from there on serials still rise, without a
// clock, for longer than any store lives.
constexpr Serial kMillisecondsSane = kMillisecondsMax - Serial{366} * 86'400'000;

bool SamePartition(Serial a, Serial b) {
    return ((a ^ b) >> kCounterBits & ((Serial{1} << kPartitionBits) - 1)) == 0;
}

bool IsLetterOrDigit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

bool IsValidId(std::string_view text) {
    if (text.empty() || text.size() > kIdBytesMax || !IsLetterOrDigit(text.front())) return false;
    return std::ranges::all_of(text, [](char c) {
        return IsLetterOrDigit(c) || c == '.' || c == '_' || c == '~' || c == '-';
    });
}

Serial SerialAt(Time time) {
    if (time <= kSerialEpoch) return 0;
    // "Until 9999" in a filter is a moment too, and must not wrap around to an early one.
    const auto milliseconds = static_cast<Serial>((time - kSerialEpoch).count());
    return std::min(milliseconds, kMillisecondsMax) << kTimeShift;
}

Time TimeOf(Serial serial) {
    return kSerialEpoch + Duration(static_cast<std::int64_t>(serial >> kTimeShift));
}

Serial SerialSource::Next(Time now) {
    const Serial partition_part = Serial{partition_} << kCounterBits;
    const Serial at = SerialAt(now);
    const Serial fresh = at | partition_part;
    if (fresh > last_ && at >> kTimeShift <= kMillisecondsSane) {
        last_ = fresh;
    } else if ((last_ & kCounterMask) != kCounterMask && SamePartition(last_, fresh)) {
        ++last_;
    } else {
        // The counter of this millisecond is used up, or the last serial was another partition's.
        last_ = (((last_ >> kTimeShift) + 1) << kTimeShift) | partition_part;
    }
    return last_;
}

std::string SerialText(Serial serial) {
    std::string text(kSerialDigits, '0');
    for (std::size_t i = kSerialDigits; i > 0; --i) {
        text[i - 1] = kDigits[serial & 31];
        serial >>= 5;
    }
    return text;
}

std::optional<Serial> ParseSerial(std::string_view text) {
    // 13 digits hold 65 bits: the first one has room for four.
    if (text.size() != kSerialDigits || text.front() > 'f') return std::nullopt;
    Serial serial = 0;
    for (const char c : text) {
        const std::size_t digit = kDigits.find(c);
        if (digit == std::string_view::npos) return std::nullopt;
        serial = serial << 5 | digit;
    }
    return serial;
}

}  // namespace takt::internal
