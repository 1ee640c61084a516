#include "store/redis/keys.h"

#include <fmt/format.h>

#include "base/number.h"

namespace takt::internal::redis {
namespace {

constexpr int kSerialLowBits = 22;  // Of a serial, below its milliseconds.

}  // namespace

// CRC-16/XMODEM, as Redis' cluster specification defines it. Few keys are hashed, at start: no
// table.
HashSlot HashSlotOf(std::string_view tag) {
    std::uint16_t crc = 0;
    for (const char c : tag) {
        crc = static_cast<std::uint16_t>(crc ^ (static_cast<std::uint8_t>(c) << 8));
        for (int bit = 0; bit < 8; ++bit) {
            const bool high = (crc & 0x8000) != 0;
            crc = static_cast<std::uint16_t>((crc << 1) ^ (high ? 0x1021 : 0));
        }
    }
    return crc % kHashSlotCount;
}

std::string SerialDigits(Serial serial) {
    return fmt::format("{:019}", serial);
}

std::string MemberOf(Serial serial, std::string_view id) {
    std::string member = SerialDigits(serial);
    member += ':';
    member += id;
    return member;
}

std::string StreamId(Serial serial) {
    return fmt::format("{}-{}", TimeOf(serial).time_since_epoch().count(),
                       serial & ((1u << kSerialLowBits) - 1));
}

Result<Serial> SerialOfStreamId(std::string_view id) {
    const std::size_t dash = id.find('-');
    const auto ms = ParseNumber<std::int64_t>(id.substr(0, dash));
    const auto low =
        dash == std::string_view::npos ? std::nullopt : ParseNumber<Serial>(id.substr(dash + 1));
    if (!ms || !low) return Fail(ErrorCode::kInvalid, "not the id of a stream entry");
    return SerialAt(Time(Duration(*ms))) + *low;
}

std::string SettingGroup(std::string_view name) {
    const std::size_t slash = name.find('/');
    return slash == std::string_view::npos ? std::string() : std::string(name.substr(0, slash + 1));
}

PartitionKeys::PartitionKeys(std::string_view installation, Partition p)
    : partition(p),
      prefix(fmt::format("{{{}:{}}}:", installation, p)),
      slot(HashSlotOf(fmt::format("{}:{}", installation, p))) {}

GlobalKeys::GlobalKeys(std::string_view installation)
    : prefix(fmt::format("{{{}}}:", installation)), slot(HashSlotOf(installation)) {}

}  // namespace takt::internal::redis
