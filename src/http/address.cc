#include "http/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace takt::internal {
namespace {

struct Range {
    const char* text;
    int bits;
    AddressReach reach;
};

// IANA's special-purpose registries, as far as they are not publicly reachable.
constexpr Range kRanges[] = {
    {"127.0.0.0", 8, AddressReach::kLoopback},    {"169.254.0.0", 16, AddressReach::kLinkLocal},
    {"10.0.0.0", 8, AddressReach::kPrivate},      {"172.16.0.0", 12, AddressReach::kPrivate},
    {"192.168.0.0", 16, AddressReach::kPrivate},  {"100.64.0.0", 10, AddressReach::kPrivate},
    {"0.0.0.0", 8, AddressReach::kSpecial},       {"192.0.0.0", 24, AddressReach::kSpecial},
    {"192.0.2.0", 24, AddressReach::kSpecial},    {"198.18.0.0", 15, AddressReach::kSpecial},
    {"198.51.100.0", 24, AddressReach::kSpecial}, {"203.0.113.0", 24, AddressReach::kSpecial},
    {"224.0.0.0", 3, AddressReach::kSpecial},     {"::1", 128, AddressReach::kLoopback},
    {"fe80::", 10, AddressReach::kLinkLocal},     {"fc00::", 7, AddressReach::kPrivate},
    {"::", 128, AddressReach::kSpecial},          {"ff00::", 8, AddressReach::kSpecial},
    {"64:ff9b::", 96, AddressReach::kSpecial},    {"64:ff9b:1::", 48, AddressReach::kSpecial},
    {"2001:db8::", 32, AddressReach::kSpecial},   {"2001::", 23, AddressReach::kSpecial},
    {"2002::", 16, AddressReach::kSpecial},       {"100::", 64, AddressReach::kSpecial},
    {"::", 96, AddressReach::kSpecial},
};

bool IsIn(const IpAddress& address, const Range& range) {
    const auto start = ParseIpAddress(range.text);
    if (!start || start->v6 != address.v6) return false;
    for (int bit = 0; bit < range.bits; bit += 8) {
        const int left = std::min(8, range.bits - bit);
        const auto mask = static_cast<std::uint8_t>(0xff << (8 - left));
        const auto at = static_cast<std::size_t>(bit / 8);
        if ((address.bytes[at] & mask) != (start->bytes[at] & mask)) return false;
    }
    return true;
}

}  // namespace

std::string IpAddress::Text() const {
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(v6 ? AF_INET6 : AF_INET, bytes.data(), text.data(), text.size());
    return text.data();
}

std::optional<IpAddress> ParseIpAddress(std::string_view text) {
    const std::string copy(text);
    IpAddress address;
    if (inet_pton(AF_INET, copy.c_str(), address.bytes.data()) == 1) return address;
    if (inet_pton(AF_INET6, copy.c_str(), address.bytes.data()) != 1) return std::nullopt;
    address.v6 = true;
    constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (std::equal(kMapped.begin(), kMapped.end(), address.bytes.begin())) {
        IpAddress inner;
        std::copy(address.bytes.begin() + 12, address.bytes.end(), inner.bytes.begin());
        return inner;
    }
    return address;
}

AddressReach ReachOf(const IpAddress& address) {
    for (const Range& range : kRanges) {
        if (IsIn(address, range)) return range.reach;
    }
    return AddressReach::kPublic;
}

}  // namespace takt::internal
