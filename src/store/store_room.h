// StoreRoom: how much is stored, as the store itself counts, and how much there may be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store/store.h"

namespace takt::internal {

struct StoreRoom {
    std::uint64_t bytes = 0;
    std::uint64_t bytes_max = 0;  // 0: the store knows of no bound.
    std::string bound;            // The thing that bounds it, for people: "maxmemory", "the disk".
    double used = 0;  // Part of the bound that is in use, by others too; 0: that is `bytes` of it.
};

// A store that counts.
class CountsRoom {
  public:
    virtual ~CountsRoom() = default;
    // As it was seen last; nothing before that. May look at files, asks no server. From any thread.
    virtual std::optional<StoreRoom> Room() const = 0;
};

inline std::optional<StoreRoom> RoomOf(const Store& store) {
    const auto* counts = dynamic_cast<const CountsRoom*>(&store);
    return counts ? counts->Room() : std::nullopt;
}

}  // namespace takt::internal
