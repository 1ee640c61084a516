#include "base/nearest.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace takt::internal {
namespace {

// Environment variables are our longest names: TAKT_SERVER_CONNECTIONS_PER_ADDRESS_MAX has 39.
constexpr std::size_t kNearestBytesMax = 64;

// REQUIRES: neither is longer than kNearestBytesMax.
std::size_t EditDistance(std::string_view a, std::string_view b) {
    using Row = std::array<std::size_t, kNearestBytesMax + 1>;
    Row before{};
    Row last{};
    Row row{};
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        before = last;
        last = row;
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
        }
    }
    return row[b.size()];
}

}  // namespace

std::string_view NearestName(std::string_view unknown, std::span<const std::string_view> known) {
    if (unknown.size() > kNearestBytesMax) return {};
    std::string_view nearest;
    std::size_t least = std::max<std::size_t>(unknown.size() / 3, 1) + 1;
    for (const std::string_view name : known) {
        if (name.size() > kNearestBytesMax) continue;
        const std::size_t distance = EditDistance(unknown, name);
        if (distance >= least) continue;
        least = distance;
        nearest = name;
    }
    return nearest;
}

}  // namespace takt::internal
