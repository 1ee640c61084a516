// IP addresses as a policy sees them, without Boost.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace takt::internal {

struct IpAddress {
    bool v6 = false;
    std::array<std::uint8_t, 16> bytes{};  // IPv4 uses the first four.

    std::string Text() const;
    friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

// An IPv4-mapped IPv6 address is given as the IPv4 address it reaches. nullopt for anything else
// than a plain address: no ports, zones, names or octal shorthand.
std::optional<IpAddress> ParseIpAddress(std::string_view text);

// The reach of an address; the first that fits.
enum class AddressReach : std::uint8_t {
    kLoopback,   // This machine.
    kLinkLocal,  // This network segment; clouds serve their credentials there.
    kPrivate,    // This organisation: RFC 1918, unique local, carrier-grade NAT.
    kSpecial,    // Unspecified, multicast, broadcast, documentation, reserved, translations.
    kPublic,
};

AddressReach ReachOf(const IpAddress& address);

}  // namespace takt::internal
